import { describe, expect, it } from 'vitest';
import { JudgeError } from '../../../src/judge/judge-error.ts';
import { ScoringLoop } from '../../../src/scoring/live/scoring-loop.ts';
import { FakeTimers } from '../../support/fakes/fake-timers.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import {
  agentSpan,
  CountingScorer,
  judged,
  newTraceId,
  createTestScoring,
  readTestTrace,
  buildRule,
} from '../../support/scoring/scoring-world.ts';
import { fc } from '../../support/fast-check.ts';

const TRACES = 3;
const SECONDS = 120;

/** A span that arrives; the first of a trace is its root, the others are tool results below it. */
const arrival = fc.record({
  trace: fc.nat(TRACES - 1),
  span: fc.nat(4),
  // Few moments, so that pieces of one trace often share one and differ in their commits only.
  atSecond: fc.integer({ min: 1, max: 6 }).map((count) => count * 15),
  heldBackMs: fc.oneof(fc.constant(0), fc.integer({ min: 8_000, max: 30_000 })),
});

/** How long the store or the judge is away. */
const outage = fc.record({
  what: fc.constantFrom('scores' as const, 'decisions' as const, 'arrivals' as const, 'judge' as const),
  fromSecond: fc.nat(SECONDS),
  seconds: fc.integer({ min: 1, max: 40 }),
});

/** A process that is killed and started again. */
const crash = fc.record({ loop: fc.nat(1), atSecond: fc.nat(SECONDS) });

const history = fc.record({
  arrivals: fc.array(arrival, { minLength: 1, maxLength: 20 }),
  outages: fc.array(outage, { maxLength: 3 }),
  crashes: fc.array(crash, { maxLength: 4 }),
  /** Start and length of a time without a scorer process. */
  absence: fc.option(
    fc.record({ fromSecond: fc.nat(SECONDS), ms: fc.constantFrom(60_000, 600_000, 3_600_000) }),
  ),
});

/** Expected decisions of a trace by its stored spans, `late_limit` aside. */
async function wanted(store: MemoryStore, traceId: string) {
  const rows = store.spanRows.filter((row) => row.span.traceId === traceId);
  if (rows.length === 0) {
    return { seenUntil: [], decisions: [], scores: [] };
  }
  const seenUntil = [Math.max(...rows.map((row) => row.arrivedAtMs))];
  const [data] = (await store.stores.spans.read([{ tenant: '', traceId }])).values();
  const [run] = readTestTrace(data!).runs;
  if (run?.scorable !== true) {
    return { seenUntil, decisions: ['* not_applicable'], scores: [] };
  }
  const decisions = ['code scored', 'judge scored'];
  return { seenUntil, decisions, scores: [`code ${run.context.length}`, `judge ${run.context.length}`] };
}

async function found(store: MemoryStore, traceId: string) {
  const decisions = store
    .decisions()
    .filter((row) => row.traceId === traceId && !row.reason.startsWith('superseded'));
  const limited = decisions.filter((row) => row.reason.startsWith('late_limit')).map((row) => row.scorer);
  const scores = store.scores().filter((score) => score.traceId === traceId);
  const [data] = (await store.stores.spans.read([{ tenant: '', traceId }])).values();
  const latest = data === undefined ? 0 : readTestTrace(data).runs[0]?.context.length;
  return {
    seenUntil: [...new Set(decisions.map((row) => row.evidenceUntil))],
    decisions: decisions.map((row) => `${row.scorer} ${row.status}`).toSorted(),
    scores: scores
      .map(({ scorer, score }) => `${scorer} ${limited.includes(scorer) ? latest : score * 64}`)
      .toSorted(),
  };
}

describe('whatever happens', () => {
  it('every trace ends with one current row for every scorer, and its scores have the last evidence', async () => {
    await fc.assert(
      fc.asyncProperty(history, async ({ arrivals, outages, crashes, absence }) => {
        const store = new MemoryStore();
        const timers = new FakeTimers(store);
        const startMs = store.clockMs;
        const isAway = (what: string) =>
          outages.some(({ what: which, fromSecond, seconds }) => {
            const second = (store.clockMs - startMs) / 1_000;
            return which === what && second >= fromSecond && second < fromSecond + seconds;
          });
        store.failing = isAway;
        const byContext = (input: { context?: readonly string[] }) => ({ score: input.context!.length / 64 });
        const scorers = [
          new CountingScorer('code', byContext),
          judged('judge', (input) => {
            if (isAway('judge')) {
              throw new JudgeError('judge_unavailable', 'gone');
            }
            return byContext(input);
          }),
        ];
        const start = () =>
          new ScoringLoop(createTestScoring(store), {
            rules: [buildRule(scorers)],
            timers,
            stopGraceMs: 1,
          });
        const loops: ScoringLoop[] = [start(), start()];
        await Promise.all(loops.map((loop) => loop.start()));
        await timers.advance(1_000);
        const ids = Array.from({ length: TRACES }, newTraceId);
        for (let second = 1; second <= SECONDS; second += 1) {
          for (const { trace, span, heldBackMs } of arrivals.filter((each) => each.atSecond === second)) {
            const body =
              span === 0 ? { says: 'It rains.' } : { parent: 's0', tool: { name: 't', result: `r${span}` } };
            // One case is missed: a late commit while no process runs for longer than a tail reads back.
            const late = absence?.ms === 3_600_000 ? 0 : heldBackMs;
            store.ingest([agentSpan(ids[trace]!, `s${span}`, body)], { heldBackMs: late });
          }
          if (second === absence?.fromSecond) {
            await Promise.all([...loops.map((loop) => loop.stop()), timers.advance(10)]);
          }
          const isAbsent = absence !== null && second >= absence.fromSecond;
          for (const { loop } of crashes.filter((each) => each.atSecond === second && !isAbsent)) {
            const dead = loops[loop]!.stop();
            await timers.advance(10);
            await dead;
            loops[loop] = start();
            await loops[loop].start().catch(() => undefined);
          }
          await timers.advance(1_000);
        }
        if (absence !== null) {
          store.clockMs += absence.ms;
          loops.splice(0, 2, start(), start());
          await Promise.all(loops.map((loop) => loop.start()));
        }
        // Long enough for late waits, back-offs of an hour at most, and a sweep.
        await timers.advance(3 * 3_600_000, 60_000);
        await Promise.all(loops.map((loop) => loop.stop()));

        for (const traceId of ids) {
          expect(await found(store, traceId)).toEqual(await wanted(store, traceId));
        }
      }),
      { numRuns: 40, endOnFailure: true },
    );
  }, 300_000);
});
