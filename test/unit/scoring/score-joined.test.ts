import { SOLE_CLAIMS } from '../../../src/ownership/ownership.ts';
import type { TraceKey } from '../../../src/store/contracts/stores.ts';
import { describe, expect, it, vi } from 'vitest';
import { scoreSpool, createSpoolStores } from '../../../src/cli/trace-files.ts';
import { openTraceSpool } from '../../../src/cli/trace-files.ts';
import type { Span } from '../../../src/domain/trace/span.ts';
import { apiMode, backfillMode } from '../../../src/scoring/scoring-mode.ts';
import { prepareRule, type Rule } from '../../../src/scoring/select/rule.ts';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import type { Scoring } from '../../../src/scoring/scoring.ts';
import type { TraceOutcome } from '../../../src/scoring/trace-task.ts';
import { drawUniform } from '../../../src/scoring/select/sample-trace.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import { createJoiningScoring, buildPieces } from '../../support/builders/pieces.ts';
import { agentSpan, chatMessage } from '../../support/builders/spans.ts';
import { CountingScorer, buildLiveMode, buildRule } from '../../support/scoring/scoring-world.ts';
import { fc } from '../../support/fast-check.ts';

const QUIET_MS = 60_000;

const RAIN = buildPieces('Does it rain?');

function buildKeys(...spans: Span[]) {
  return spans.map(({ traceId }) => ({ tenant: '', traceId }));
}

async function world(parts: Partial<Rule> = {}) {
  const store = new MemoryStore();
  const scorer = new CountingScorer('a');
  const rule = buildRule([scorer], parts);
  const mode = await buildLiveMode(store, rule);
  const scoring = createJoiningScoring(store.stores, { monotonicMs: () => store.clockMs });
  /** Stores each span with an insert of its own, then lets a long quiet time pass. */
  const ingest = (...spans: Span[]) => {
    for (const span of spans) {
      store.ingest([span]);
      store.clockMs += 1;
    }
    store.clockMs += QUIET_MS;
  };
  const score = (spans: Span[], by: Scoring = scoring) => scoreTraces(by, buildKeys(...spans), mode);
  return { store, scorer, rule, mode, scoring, ingest, score };
}

/** Decisions of some traces in a short form. */
function decided(store: MemoryStore, ...spans: Span[]) {
  return spans.map(({ traceId }) =>
    store
      .decisions()
      .filter((row) => row.traceId === traceId)
      .map(({ status, reason, revision }) => `${status} ${revision} ${reason}`.trim())
      .sort()
      .join(' | '),
  );
}

const INCOMPLETE =
  'not_applicable 1 run_incomplete: the recorded spans end at a tool call whose result is not in this trace';

const SCORED_AFTER_ALL =
  'scored 1 | scored 2 superseded: later spans changed the verdict; see the rows of the scorers';

function formatPart(owner: Span, revision = 1): string {
  return `not_applicable ${revision} part_of_run: this trace is a piece of the run that is scored as trace ${owner.traceId}`;
}

describe('a run that came as several traces', () => {
  it('is scored once, under its earliest trace, and the other traces are decided as parts of it', async () => {
    const { store, scorer, ingest, score } = await world();
    const { asks, tool, answers } = RAIN;
    ingest(asks, tool, answers);
    await score([answers, tool, asks]);
    expect(decided(store, asks, tool, answers)).toEqual(['scored 1', formatPart(asks), formatPart(asks)]);
    expect(store.scores()).toMatchObject([
      { traceId: asks.traceId, targetId: asks.traceId, spanId: asks.spanId, completeness: 'complete' },
    ]);
    expect(scorer.inputs).toHaveLength(1);
    expect(scorer.inputs[0]).toMatchObject({ context: ['rain'], targetTraceId: asks.traceId });
  });

  it('is the same run from each of its traces and in any order', async () => {
    const { asks, tool, answers } = RAIN;
    for (const order of [[asks], [tool], [answers], [tool, asks], [answers, asks, tool]]) {
      const { store, scorer, ingest, score } = await world();
      ingest(asks, tool, answers);
      for (const span of order) {
        await score([span]);
      }
      expect(decided(store, asks, tool, answers)).toEqual(['scored 1', formatPart(asks), formatPart(asks)]);
      expect(scorer.inputs).toHaveLength(1);
    }
  });

  it('is scored as the step around it', async () => {
    const { store, scorer, ingest, score } = await world();
    const { asks, tool, answers, step } = RAIN;
    ingest(asks, tool, answers, step);
    await score([asks]);
    expect(decided(store, asks, tool, answers, step)).toEqual([
      ...[asks, tool, answers].map(() => formatPart(step)),
      'scored 1',
    ]);
    expect(scorer.inputs).toHaveLength(1);
  });

  it('is scored again when a piece comes late', async () => {
    const { store, scorer, ingest, score } = await world();
    const { asks, tool, answers } = RAIN;
    ingest(asks);
    await score([asks]);
    expect(decided(store, asks)).toEqual([INCOMPLETE]);
    ingest(answers);
    await score([answers]);
    expect(decided(store, asks, answers)).toEqual([SCORED_AFTER_ALL, formatPart(asks)]);
    expect(scorer.inputs.map((input) => input.context)).toEqual([['rain']]);
    ingest(tool);
    await score([tool]);
    expect(store.scores()).toMatchObject([{ traceId: asks.traceId, completeness: 'complete' }]);
    await score([asks, tool, answers]);
    expect(scorer.inputs).toHaveLength(1);
  });

  it('withdraws the score of a piece when the step around it comes late', async () => {
    const { store, ingest, score } = await world();
    const { asks, answers, step } = RAIN;
    ingest(asks, answers);
    await score([asks, answers]);
    expect(store.scores()).toMatchObject([{ traceId: asks.traceId }]);
    ingest(step);
    await score([step]);
    expect(store.scores()).toMatchObject([{ traceId: step.traceId }]);
    const [asked, ...others] = decided(store, asks, answers, step);
    expect(others).toEqual([formatPart(step), 'scored 1']);
    expect(new Set(asked?.split(' | ').map((line) => line.split(' ')[2]))).toEqual(new Set(['part_of_run:']));
  });

  it('waits for the answer of a tool, longer than a trace that has ended', async () => {
    const { store, ingest, score } = await world();
    store.ingest([RAIN.asks]);
    store.clockMs += 10_000;
    const [early] = await score([RAIN.asks]);
    expect(early).toMatchObject({ waitUntilMs: store.clockMs + 20_000, decisions: [] });
    store.ingest([RAIN.answers]);
    store.clockMs += 5_000;
    expect(await score([RAIN.asks, RAIN.answers])).toMatchObject([
      { decisions: [{ status: 'scored' }] },
      { decisions: [{ status: 'not_applicable' }] },
    ]);
    const alone = buildPieces('Does it snow?', { atMs: 1_000 });
    ingest(alone.asks);
    await score([alone.asks]);
    expect(decided(store, alone.asks)).toEqual([INCOMPLETE]);
  });

  it('keeps the spans of its pieces, which a trace alone frees before its scorer ends', async () => {
    const { store, scorer, mode, ingest } = await world();
    const { asks, tool, answers } = RAIN;
    const agent = agentSpan('agent', {
      'gen_ai.input.messages': [chatMessage('user', 'Is it cold?')],
      'gen_ai.output.messages': [chatMessage('assistant', 'It is not.')],
    });
    const whole = { ...agent, traceId: agent.spanId.repeat(2), parentSpanId: '' };
    ingest(asks, tool, answers, whole);
    const freed: string[] = [];
    const read: typeof store.stores.spans.read = async (keys, options) =>
      new Map(
        [...(await store.stores.spans.read(keys, options))].map(([name, data]) => [
          name,
          { ...data, forget: () => void freed.push(data.traceId) },
        ]),
      );
    const gate = Promise.withResolvers<void>();
    scorer.scores = () => gate.promise.then(() => ({ score: 1 }));
    const stores = { ...store.stores, spans: { ...store.stores.spans, read } };
    const scoring = createJoiningScoring(stores, { monotonicMs: () => store.clockMs });
    const scored = scoreTraces(scoring, buildKeys(asks, tool, answers, whole), mode);
    await vi.waitFor(() => expect(scorer.inputs).toHaveLength(2));
    expect(freed).toEqual([whole.traceId]);
    gate.resolve();
    await scored;
  });

  it('waits for a piece that still arrives', async () => {
    const { store, ingest, score } = await world();
    ingest(RAIN.asks);
    store.ingest([RAIN.answers]);
    store.clockMs += 1_000;
    expect(await score([RAIN.asks])).toMatchObject([{ waitUntilMs: store.clockMs + 4_000, decisions: [] }]);
  });

  it('leaves a piece undecided when its owner cannot be decided, so that it is found again', async () => {
    const { store, scorer, ingest, score } = await world();
    const { asks, answers } = RAIN;
    ingest(asks);
    await score([asks]);
    ingest(answers);
    store.failing = (what) => what === 'decisions';
    expect(await score([answers])).toMatchObject([{ decisions: [], error: { code: 'store_unavailable' } }]);
    expect(decided(store, asks, answers)).toEqual([INCOMPLETE, '']);
    store.failing = () => false;
    await score([answers]);
    expect(decided(store, asks, answers)).toEqual([SCORED_AFTER_ALL, formatPart(asks)]);
    expect(scorer.inputs).toHaveLength(1);
  });

  it('is not mixed with another tenant or another service', async () => {
    const { store, mode, scoring } = await world();
    const { asks, answers } = RAIN;
    store.ingest([asks], { tenant: 'one' });
    store.ingest([answers], { tenant: 'two' });
    const other = buildPieces('Elsewhere?');
    store.ingest([other.asks, { ...other.answers, serviceName: 'other' }]);
    store.clockMs += QUIET_MS;
    await scoreTraces(
      scoring,
      [
        { tenant: 'one', traceId: asks.traceId },
        { tenant: 'two', traceId: answers.traceId },
        ...buildKeys(other.asks, other.answers),
      ],
      mode,
    );
    expect(decided(store, asks, answers, other.asks, other.answers)).toEqual([
      INCOMPLETE,
      'scored 1',
      INCOMPLETE,
      'scored 1',
    ]);
  });

  it('is sampled by the trace that owns it', async () => {
    const drawn = Array.from({ length: 100 }, (_, index) => buildPieces(`Question ${index}?`)).find(
      ({ asks, answers }) => drawUniform(asks.traceId) > 0.5 && drawUniform(answers.traceId) < 0.5,
    )!;
    const { store, scorer, ingest, score } = await world({ sample: { rate: 0.5, always: [] } });
    ingest(drawn.asks, drawn.answers);
    await score([drawn.answers]);
    expect(decided(store, drawn.asks, drawn.answers)).toEqual([
      'sampled_out 1 sampled_out: not among the 50 % that the rule scores',
      formatPart(drawn.asks),
    ]);
    expect(scorer.inputs).toEqual([]);
  });

  it('is selected by the facts of any of its pieces', async () => {
    const always = { rate: 0, always: ['tool-error'] } as const;
    const { store, ingest, score } = await world({ sample: { ...always, always: [...always.always] } });
    const { asks, tool, answers } = RAIN;
    ingest(asks, { ...tool, statusCode: 'Error' }, answers);
    await score([asks, tool, answers]);
    expect(store.scores()).toMatchObject([{ traceId: asks.traceId, stratum: 'priority' }]);
  });

  it('has the duration from the first start of its pieces to the last end', async () => {
    const { asks, tool, answers } = RAIN;
    const spans = [asks, tool, answers];
    const starts = spans.map((span) => span.startUnixNano);
    const ends = spans.map((span) => span.startUnixNano + span.durationNano);
    const wholeMs =
      Number(ends.reduce((a, b) => (a > b ? a : b)) - starts.reduce((a, b) => (a < b ? a : b))) / 1e6;
    const { store, ingest, score } = await world({ where: { durationMs: { max: wholeMs - 1 } } });
    ingest(...spans);
    await score(spans);
    expect(decided(store, asks)).toEqual([expect.stringContaining('filtered 1 where: duration is')]);
    const {
      store: other,
      ingest: ingestThere,
      score: scoreThere,
    } = await world({ where: { durationMs: { max: wholeMs } } });
    ingestThere(...spans);
    await scoreThere(spans);
    expect(decided(other, asks)).toEqual(['scored 1']);
  });

  it('is scored by the owner of the piece that became ready', async () => {
    const { store, scoring, ingest, score } = await world();
    const { asks, answers } = RAIN;
    ingest(asks, answers);
    const claims = {
      claim: (key: TraceKey) => (key.traceId === answers.traceId ? SOLE_CLAIMS.claim(key) : null),
    };
    await score([answers], { ...scoring, claims });
    expect(decided(store, asks, answers)).toEqual(['scored 1', formatPart(asks)]);
  });

  it('is scored by a command that names any piece, and the outcome has the rows of the owner', async () => {
    const { store, rule, scoring, ingest } = await world();
    const { asks, answers } = RAIN;
    ingest(asks, answers);
    const mode = apiMode([prepareRule(rule)], { write: false });
    expect(await scoreTraces(scoring, buildKeys(answers), mode)).toMatchObject([
      {
        key: { traceId: answers.traceId },
        scores: [{ traceId: asks.traceId }],
        decisions: [
          { traceId: answers.traceId, status: 'not_applicable' },
          { traceId: asks.traceId, status: 'scored' },
        ],
      },
    ]);
    expect(store.decisions()).toEqual([]);
  });

  it('is scored once by a backfill that reads its pieces page by page', async () => {
    const { store, scorer, rule, scoring, ingest } = await world();
    const { asks, tool, answers } = RAIN;
    ingest(asks, tool, answers);
    const mode = backfillMode([prepareRule(rule)]);
    for (const span of [asks, tool, answers]) {
      await scoreTraces(scoring, buildKeys(span), mode);
    }
    expect(store.scores()).toHaveLength(1);
    expect(scorer.inputs).toHaveLength(1);
  });

  it('is one run in files too, however many traces lie between its pieces', async () => {
    const runs = Array.from({ length: 300 }, (_, index) => buildPieces(`Question ${index}?`));
    const spans = [...runs.map(({ asks }) => asks), ...runs.map(({ answers }) => answers)];
    const scorer = new CountingScorer('a');
    const spool = openTraceSpool();
    spool.add(spans.map((span) => ({ traceId: span.traceId, spans: [span], logs: [] })));
    const scoring = createJoiningScoring(createSpoolStores(spool, Date.UTC(2026, 10, 21)));
    const outcomes: TraceOutcome[] = [];

    for await (const batch of scoreSpool(spool, scoring, [prepareRule(buildRule([scorer]))])) {
      outcomes.push(...batch);
    }

    const scored = outcomes.flatMap((outcome) => outcome.scores.map((score) => score.traceId));
    expect(scored.toSorted()).toEqual(runs.map(({ asks }) => asks.traceId).toSorted());
    expect(scorer.inputs).toHaveLength(300);
    spool.close();
  });

  it('ends as one run in any order of its pieces and after any interruption', async () => {
    const { asks, tool, answers, step } = RAIN;
    const moves = fc.array(
      fc.record({
        scores: fc.subarray([asks, tool, answers, step]),
        fails: fc.boolean(),
        waitMs: fc.nat(90_000),
      }),
      { minLength: 4, maxLength: 4 },
    );
    const pieces = fc.shuffledSubarray([asks, tool, answers, step], { minLength: 4 });
    const property = fc.asyncProperty(pieces, moves, async (order, steps) => {
      const { store, rule, score } = await world();
      for (const [index, { scores, fails, waitMs }] of steps.entries()) {
        store.ingest([order[index]!]);
        store.clockMs += waitMs;
        let writes = 0;
        store.failing = (what) => fails && what === 'decisions' && ++writes > 1;
        await score(scores);
      }
      store.failing = () => false;
      store.clockMs += QUIET_MS * 60;
      const pairs = rule.scorers.map(({ name }) => ({
        rule: rule.name,
        scorer: name,
        fromMs: 0,
        untilMs: Infinity,
      }));
      const found = await store.stores.decisions.undecided({
        sinceMs: 0,
        nowMs: store.clockMs,
        pairs,
        limit: 10,
      });
      await score(order.filter(({ traceId }) => found.some((trace) => trace.traceId === traceId)));
      expect(store.scores()).toMatchObject([{ traceId: step.traceId }]);
      for (const line of decided(store, asks, tool, answers).flatMap((lines) => lines.split(' | '))) {
        expect(line).toContain(
          `part_of_run: this trace is a piece of the run that is scored as trace ${step.traceId}`,
        );
      }
    });
    await fc.assert(property, { numRuns: 75 });
  });

  it('reads the traces of a busy service once, however many of them are pieces', async () => {
    const { store, ingest, score } = await world();
    const runs = Array.from({ length: 40 }, (_, index) =>
      buildPieces(`Question ${index}?`, { atMs: index * 100 }),
    );
    ingest(...runs.flatMap(({ asks, tool, answers }) => [asks, tool, answers]));
    for (const { asks, tool, answers } of runs) {
      await score([asks, tool, answers]);
    }
    expect(store.scores()).toHaveLength(40);
    const reads = store.reads.flat().length;
    expect(reads).toBeLessThanOrEqual(2 * 3 * 40);
  });
});
