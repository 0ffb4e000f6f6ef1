import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { JobProgress } from '../../../src/store/contracts/jobs.ts';
import { currentJudgeScope } from '../../../src/judge/judge-scope.ts';
import type { Rule, Where } from '../../../src/scoring/select/rule.ts';
import { buildSpan } from '../../support/builders/spans.ts';
import { createJoiningScoring } from '../../support/builders/pieces.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import {
  countBackfill,
  runBackfill,
  Stopped,
  type AskedBackfill,
} from '../../support/scoring/backfill-runs.ts';
import { buildLiveMode, buildRule, CountingScorer, judged } from '../../support/scoring/scoring-world.ts';

const HOUR_MS = 3_600_000;
const SESSIONS = { idleMs: 30 * 60_000, maxAgeMs: 24 * HOUR_MS, rescores: 24 };
const message = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] });

let traces = 0;
/** Stores one turn of a session that began at a second after the start of the builders' time. */
function say(
  store: MemoryStore,
  session: string,
  at: number,
  { tier = 'free', error }: { readonly tier?: string; readonly error?: string } = {},
): string {
  traces += 1;
  const traceId = traces.toString(16).padStart(32, '0');
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.conversation.id': session,
    tier,
    'gen_ai.input.messages': [message('user', `question ${traces}`)],
    'gen_ai.output.messages': [message('assistant', 'yes')],
  };
  const options = { at: at * 1_000, traceId, ...(error === undefined ? {} : { error }) };
  store.ingest([buildSpan(`turn ${traces}`, attributes, options)]);
  return traceId;
}

/** Start of a span that a test builds at second 0, Unix milliseconds. */
const START_MS = Number(buildSpan('first', {}, { at: 0 }).startUnixNano / 1_000_000n);

function world() {
  const store = new MemoryStore();
  const scorer = new CountingScorer('a');
  const scoring = createJoiningScoring(store.stores, { monotonicMs: () => store.clockMs });
  const rule = buildRule([scorer], { name: 'chats', target: 'session' });
  const request = (fromS: number, toS: number, liveRules: readonly Rule[] = []): AskedBackfill => ({
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
    for (let index = 0; index < 25; index++) {
      say(store, `s-${index}`, index);
    }
    store.clockMs += HOUR_MS;
    const asked = { ...request(0, 1_000), pageSize: 20 };
    const onSave = ({ sessions }: { sessions: number }) => {
      if (sessions > 0) {
        throw new Stopped();
      }
    };
    const stopped: unknown = await runBackfill(scoring, { ...asked, onSave }).catch(
      (error: unknown) => error,
    );
    const { saved: from } = stopped as { saved: JobProgress };
    expect(from.report).toMatchObject({ matched: 25, sessions: 20, scored: 20 });
    const second = await runBackfill(scoring, { ...asked, from });
    expect(second).toMatchObject({ sessions: 25, scored: 25, skipped: {} });
    expect(scorer.inputs).toHaveLength(25);
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
    expect(begunMs).toHaveLength(4);
    // Three gaps of 50 ms. A busy machine that begins the first one late makes their sum shorter; without the limit it is 15 ms.
    expect((begunMs.at(-1) ?? 0) - (begunMs[0] ?? 0)).toBeGreaterThan(75);
  });
});

/** Stores sessions that differ in what conditions look at: a turn of another tier, a failed turn, and the time over all turns. */
function sayAll(store: MemoryStore): void {
  say(store, 'gold', 0, { tier: 'gold' });
  say(store, 'gold', 5);
  say(store, 'failed', 1);
  say(store, 'failed', 6, { error: 'down' });
  say(store, 'plain', 2);
  say(store, 'slow', 3);
  say(store, 'slow', 99);
}

describe('conditions of a backfill by rules on sessions', () => {
  const conditions: [string, Where, readonly string[]][] = [
    ['an attribute of one turn', { attributes: { tier: ['gold'] } }, ['gold']],
    ['a failed turn', { status: 'error' }, ['failed']],
    ['the time over all turns', { durationMs: { min: 60_000 } }, ['slow']],
    ['no turn of a kind', { not: { attributes: { tier: ['gold'] } } }, ['failed', 'plain', 'slow']],
    ['a service of no turn', { service: ['nobody'] }, []],
  ];

  it.each(conditions)(
    'take the sessions with %s, as the conditions of a rule do',
    async (_, where, expected) => {
      const { store, scoring, rule, request } = world();
      sayAll(store);
      store.clockMs += HOUR_MS;
      const asked = { ...request(0, 100), where };
      expect(await runBackfill(scoring, asked)).toMatchObject({ sessions: expected.length, skipped: {} });
      expect(await countBackfill(scoring, { ...request(0, 100), where })).toMatchObject({
        sessions: expected.length,
      });
      const taken = store.scores().map(({ targetId }) => targetId);
      expect(taken.toSorted()).toEqual(expected);
      const ofRule = await runBackfill(scoring, { ...request(0, 100), rules: [{ ...rule, where }] });
      const filtered = store
        .decisions()
        .filter((row) => row.rule === ofRule.rule && row.target === 'session' && row.status === 'filtered');
      const left = ['failed', 'gold', 'plain', 'slow'].filter((id) => !expected.includes(id));
      expect(filtered.map(({ targetId }) => targetId).toSorted()).toEqual(left);
    },
  );

  it('take a session as one conversation, with the turns that do not meet them by themselves', async () => {
    const { store, scorer, scoring, rule, request } = world();
    sayAll(store);
    store.clockMs += HOUR_MS;
    const where = { attributes: { tier: ['gold'] } };
    const ofTraces = new CountingScorer('b');
    const rules = [rule, buildRule([ofTraces], { name: 'runs' })];
    const asked = { ...request(0, 100), where, rules };
    expect(await runBackfill(scoring, asked)).toMatchObject({ matched: 1, sessions: 1, scored: 2 });
    expect(scorer.inputs.map(({ output }) => (output as unknown[]).length)).toEqual([2]);
    expect(ofTraces.inputs).toHaveLength(1);
    store.clockMs += 1;
    expect(await countBackfill(scoring, asked)).toMatchObject({ matched: 1, sessions: 1, remaining: 0 });
    expect(await runBackfill(scoring, asked)).toMatchObject({ scored: 0, skipped: { already_scored: 2 } });
    expect(scorer.inputs).toHaveLength(1);
  });

  it('take a session as one conversation also when the money for judges is spent', async () => {
    const { store, scorer, scoring, rule, request } = world();
    sayAll(store);
    store.clockMs += HOUR_MS;
    const paid = judged('paid', async () => {
      const tokens = { inputTokens: 100, outputTokens: 500 };
      const plan = { model: 'test/judge', step: 'analyze', promptBytes: 300, estimatedUsd: 0.1, tokens };
      await currentJudgeScope().reserve?.(plan);
      return { score: 1 };
    });
    const asked = {
      where: { attributes: { tier: ['gold'] } },
      rules: [rule, buildRule([paid], { name: 'runs' })],
    };
    const options = { maxCostUsd: 0.01 };
    expect(await runBackfill(scoring, { ...request(0, 100), ...asked, options })).toMatchObject({
      scored: 1,
      skipped: { max_cost: 1 },
    });
    expect(scorer.inputs.map(({ output }) => (output as unknown[]).length)).toEqual([2]);
  });
});
