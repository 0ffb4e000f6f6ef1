import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { JobProgress } from '../../../src/store/contracts/jobs.ts';
import type { Rule } from '../../../src/scoring/select/rule.ts';
import { buildSpan } from '../../support/builders/spans.ts';
import { createJoiningScoring } from '../../support/builders/pieces.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import { countBackfill, runBackfill, Stopped } from '../../support/scoring/backfill-runs.ts';
import { buildLiveMode, buildRule, CountingScorer } from '../../support/scoring/scoring-world.ts';

const HOUR_MS = 3_600_000;
const SESSIONS = { idleMs: 30 * 60_000, maxAgeMs: 24 * HOUR_MS, rescores: 24 };
const message = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] });

let traces = 0;
/** Stores one turn of a session that began at a second after the start of the builders' time. */
function say(store: MemoryStore, session: string, at: number): string {
  traces += 1;
  const traceId = traces.toString(16).padStart(32, '0');
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.conversation.id': session,
    'gen_ai.input.messages': [message('user', `question ${traces}`)],
    'gen_ai.output.messages': [message('assistant', 'yes')],
  };
  store.ingest([buildSpan(`turn ${traces}`, attributes, { at: at * 1_000, traceId })]);
  return traceId;
}

/** Start of a span that a test builds at second 0, Unix milliseconds. */
const START_MS = Number(buildSpan('first', {}, { at: 0 }).startUnixNano / 1_000_000n);

function world() {
  const store = new MemoryStore();
  const scorer = new CountingScorer('a');
  const scoring = createJoiningScoring(store.stores, { monotonicMs: () => store.clockMs });
  const rule = buildRule([scorer], { name: 'chats', target: 'session' });
  const request = (fromS: number, toS: number, liveRules: readonly Rule[] = []) => ({
    fromMs: START_MS + fromS * 1_000,
    toMs: START_MS + toS * 1_000,
    rules: [rule],
    liveRules,
    sessions: SESSIONS,
  });
  return { store, scorer, scoring, rule, request };
}

describe('a backfill by rules on sessions', () => {
  it('scores the sessions whose last turn lies in its range, each as one conversation', async () => {
    const { store, scorer, scoring, request } = world();
    say(store, 'early', 0);
    say(store, 'both', 0);
    say(store, 'both', 100);
    say(store, 'late', 100);
    say(store, 'goes-on', 100);
    say(store, 'goes-on', 500);
    store.clockMs += HOUR_MS;
    expect(await countBackfill(scoring, request(50, 200))).toMatchObject({ matched: 3, sessions: 0 });
    await runBackfill(scoring, request(0, 1_000));
    store.clockMs += 1;
    const scored = scorer.inputs.map(({ output }) => (output as unknown[]).length);
    expect(scored.toSorted((a, b) => a - b)).toEqual([1, 1, 2, 2]);
    const summary = await runBackfill(scoring, request(50, 200));
    expect(summary).toMatchObject({ sessions: 2, scored: 0, skipped: { already_scored: 2 } });
    const stored = store.scores().map(({ targetId, source, stratum }) => `${targetId} ${source} ${stratum}`);
    expect(new Set(stored)).toEqual(
      new Set(['early', 'both', 'late', 'goes-on'].map((id) => `${id} backfill backfill`)),
    );
  });

  it('asks for nothing again when it runs again', async () => {
    const { store, scorer, scoring, request } = world();
    say(store, 's', 0);
    store.clockMs += HOUR_MS;
    const first = await runBackfill(scoring, request(0, 100));
    expect(first).toMatchObject({ matched: 1, sessions: 1, scored: 1, skipped: {} });
    store.clockMs += 1;
    const again = await runBackfill(scoring, request(0, 100));
    expect(again).toMatchObject({
      rule: first.rule,
      sessions: 1,
      scored: 0,
      skipped: { already_scored: 1 },
    });
    expect(scorer.inputs).toHaveLength(1);
  });

  it('leaves sessions to live scoring that still go on, or that a live rule has yet to decide', async () => {
    const { store, scorer, scoring, rule, request } = world();
    say(store, 'goes-on', 0);
    store.clockMs += 20 * 60_000;
    expect(await runBackfill(scoring, request(0, 100))).toMatchObject({
      sessions: 1,
      scored: 0,
      skipped: { arriving: 1 },
    });
    store.clockMs += HOUR_MS;
    await buildLiveMode(store, rule);
    say(store, 'new', 50);
    store.clockMs += HOUR_MS;
    expect(await runBackfill(scoring, request(0, 100, [rule]))).toMatchObject({
      sessions: 2,
      scored: 1,
      skipped: { left_to_live: 1 },
    });
    expect(scorer.inputs).toHaveLength(1);
  });

  it('continues a stopped backfill', async () => {
    const { store, scorer, scoring, request } = world();
    for (let index = 0; index < 250; index++) {
      say(store, `s-${index}`, index);
    }
    store.clockMs += HOUR_MS;
    const onSave = ({ sessions }: { sessions: number }) => {
      if (sessions > 0) {
        throw new Stopped();
      }
    };
    const stopped: unknown = await runBackfill(scoring, { ...request(0, 1_000), onSave }).catch(
      (error: unknown) => error,
    );
    const { saved: from } = stopped as { saved: JobProgress };
    expect(from.report).toMatchObject({ matched: 250, sessions: 200, scored: 200 });
    const second = await runBackfill(scoring, { ...request(0, 1_000), from });
    expect(second).toMatchObject({ sessions: 250, scored: 250, skipped: {} });
    expect(scorer.inputs).toHaveLength(250);
  });

  it('scores at most as many sessions at a time, and as many a second, as it may', async () => {
    const { store, scorer, scoring, request } = world();
    ['a', 'b', 'c', 'd'].forEach((session, index) => say(store, session, index));
    store.clockMs += HOUR_MS;
    const begunMs: number[] = [];
    let [running, most] = [0, 0];
    scorer.scores = async () => {
      begunMs.push(performance.now());
      running += 1;
      most = Math.max(most, running);
      await sleep(5);
      running -= 1;
      return { score: 1 };
    };

    await runBackfill(scoring, { ...request(0, 100), options: { concurrency: 2 } });
    expect(most).toBe(2);
    begunMs.length = 0;
    store.clockMs += HOUR_MS;
    const options = { concurrency: 1, tracesPerSecond: 20, rescore: true };
    await runBackfill(scoring, { ...request(0, 100), options });
    const gaps = begunMs.slice(1).map((atMs, index) => atMs - (begunMs[index] ?? 0));
    expect(gaps).toHaveLength(3);
    expect(Math.min(...gaps)).toBeGreaterThan(40);
  });
});
