import { afterAll, beforeAll, expect, test } from 'vitest';
import { runBackfill } from '../../support/scoring/backfill-runs.ts';
import { AGENT_SIGNALS } from '../../../src/conventions/agent-signals.ts';
import { readTrace } from '../../../src/conventions/index.ts';
import { joinSignals, type AgentSignals } from '../../../src/domain/trace/agent-signals.ts';
import { explainTrace } from '../../../src/scoring/explain.ts';
import { ScoringLoop } from '../../../src/scoring/live/scoring-loop.ts';
import type { Scoring } from '../../../src/scoring/scoring.ts';
import { createScoring } from '../../support/scoring/bare-scoring.ts';
import { prepareRule, buildRuleHistory } from '../../../src/scoring/select/rule.ts';
import { joinTraceKey } from '../../../src/store/contracts/stores.ts';
import { openStore, type Store, type StoreOptions } from '../../../src/store/store.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { CountingScorer, buildRule } from '../../support/scoring/scoring-world.ts';
import { agentRunSpans, store as ingest } from '../../support/store/stored-agent.ts';
import { newTraceId, storeOptions, testStore, type TestStore } from '../../support/store/store-rows.ts';
import { until } from '../../support/until.ts';

let base: TestStore;
beforeAll(async () => {
  base = await testStore();
});
afterAll(() => base.stop());

/** Signals of a program that knows no convention of the spans in this test. */
const BEFORE: AgentSignals = joinSignals([{ scopes: ['another-emitter'], keyPrefixes: ['another.'] }]);

const rule = buildRule([new CountingScorer('a')]);

function scoringOn(store: Store): Scoring {
  return createScoring({ stores: store, readTrace, log: silentLog }, { decisionWaitMs: 200 });
}

async function statuses(store: Store, traceId: string): Promise<string[]> {
  const key = { tenant: '', traceId };
  return ((await store.decisions.ofTraces([key])).get(joinTraceKey(key)) ?? []).map(({ status }) => status);
}

/** Runs a program with these signals on the store while `work` runs. */
async function during(options: StoreOptions, work: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore(options);
  const loop = new ScoringLoop(scoringOn(store), { rules: [rule], stopGraceMs: 1_000 });
  await loop.start();
  try {
    await work(store);
  } finally {
    await loop.stop();
    await store.close();
  }
}

test('a convention that is added to a store scores new traces live, and old ones by backfill only', async () => {
  const options = storeOptions(base.engine);
  const [old, recent] = [newTraceId(), newTraceId()];
  await during({ ...options, agentSignals: BEFORE }, async (store) => {
    await ingest(store, agentRunSpans(old));
    await until(async () => (await store.spans.findTrace(old)).length === 1);
    expect((await store.spans.findTrace(old))[0]?.agentSeen).toBe(false);
  });
  await during({ ...options, agentSignals: joinSignals([BEFORE, AGENT_SIGNALS]) }, async (store) => {
    await ingest(store, agentRunSpans(recent));
    await until(async () => (await statuses(store, recent)).length > 0);
    expect(await statuses(store, recent)).toEqual(['scored']);
    expect(await statuses(store, old)).toEqual([]);
    const nowMs = await store.spans.nowMs();
    const pairs = buildRuleHistory(await store.ruleVersions.list()).coverage([prepareRule(rule)]);
    expect(pairs).toHaveLength(1);
    expect(await store.decisions.undecided({ sinceMs: 0, nowMs, pairs, limit: 10 })).toEqual([]);
    const explained = await explainTrace(scoringOn(store), { tenant: '', traceId: old }, [rule]);
    expect(explained.computed).toMatchObject([
      { status: 'not_covered', reason: expect.stringContaining('a backfill can score it') as string },
    ]);
    await runBackfill(scoringOn(store), { fromMs: 0, toMs: nowMs, rules: [rule], liveRules: [rule] });
    expect(await statuses(store, old)).toEqual(['scored']);
  });
});
