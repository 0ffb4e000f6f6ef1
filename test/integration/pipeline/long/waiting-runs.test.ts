import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { readTrace } from '../../../../src/conventions/index.ts';
import type { Span } from '../../../../src/domain/trace/span.ts';
import { createScorerOwnership, ScoringLoop } from '../../../../src/scoring/live/scoring-loop.ts';
import { createScoring } from '../../../support/scoring/bare-scoring.ts';
import type { Rule } from '../../../../src/scoring/select/rule.ts';
import { joinTraceKey } from '../../../../src/store/contracts/stores.ts';
import type { Store } from '../../../../src/store/store.ts';
import { silentLog } from '../../../../src/telemetry/log.ts';
import { agentSpan, chatMessage, chatSpan, toolCall, toolSpan } from '../../../support/builders/spans.ts';
import { buildRule, CountingScorer } from '../../../support/scoring/scoring-world.ts';
import { store as ingest } from '../../../support/store/stored-agent.ts';
import { newTraceId, openEmptied, testStore, type TestStore } from '../../../support/store/store-rows.ts';
import { until } from '../../../support/until.ts';

let base: TestStore;
let store: Store;
let loop: ScoringLoop;

beforeAll(async () => {
  base = await testStore();
});
afterAll(async () => {
  await base.stop();
});
afterEach(async () => {
  await loop.stop();
  await store.close();
});

async function startLoop(rule: Rule): Promise<void> {
  store = await openEmptied(base.options);
  const scoring = createScoring({ stores: store, readTrace, log: silentLog }, { decisionWaitMs: 400 });
  const ownership = createScorerOwnership(undefined, [rule], {
    member: '',
    monotonicMs: () => performance.now(),
  });
  loop = new ScoringLoop(scoring, { rules: [rule], stopGraceMs: 1_000, ownership });
  await loop.start();
}

async function listDecisions(traceId: string): Promise<string[]> {
  const key = { tenant: '', traceId };
  const rows = (await store.decisions.ofTraces([key])).get(joinTraceKey(key)) ?? [];
  return rows.map(({ status, reason }) => `${status} ${reason.split(':')[0]}`.trim());
}

async function listScores(traceId: string): Promise<string[]> {
  const key = { tenant: '', traceId };
  return ((await store.scores.ofTraces([key])).get(joinTraceKey(key)) ?? []).map(({ reason }) => reason);
}

/** Builds the spans of a run that asks a tool; `error` is the exception of the tool, absent for a tool that has not run. */
function askingSpans(traceId: string, error?: string): Span[] {
  const output = [chatMessage('assistant', toolCall('c1', 'refund', { order: 7 }))];
  const input = [chatMessage('user', 'Refund order 7.')];
  return [
    agentSpan('shop', {}, { traceId, lasts: 500 }),
    chatSpan('ask', { input, output }, { traceId, parent: 'shop', at: 1 }),
    ...(error === undefined
      ? []
      : [toolSpan('try', { id: 'c1', name: 'refund' }, { traceId, parent: 'shop', at: 20, error })]),
  ];
}

test.each([
  ['whose agent has ended at a call without a result', undefined],
  ['whose tool raised an interrupt', "GraphInterrupt: (Interrupt(value='Refund order 7?'),)"],
])('a run %s has no score, and one when the rest comes in its trace', async (_what, error) => {
  const scorer = new CountingScorer('a', (input) => ({ score: 1, reason: input.context!.join() }));
  await startLoop(buildRule([scorer]));
  const traceId = newTraceId();
  await ingest(store, askingSpans(traceId, error));
  await until(async () => (await listDecisions(traceId)).length > 0);
  expect(await listDecisions(traceId)).toEqual(['not_applicable run_waiting']);
  expect(await listScores(traceId)).toEqual([]);
  const said = [chatMessage('assistant', 'Refunded.')];
  await ingest(store, [
    toolSpan('again', { id: 'c1', name: 'refund', result: 'done' }, { traceId, parent: 'shop', at: 200 }),
    chatSpan('say', { output: said }, { traceId, parent: 'shop', at: 300 }),
  ]);
  await until(async () => (await listScores(traceId)).length > 0);
  // The row of the whole rule withdraws its earlier verdict.
  await until(async () => (await listDecisions(traceId)).join() === 'scored superseded,scored');
  expect(await listScores(traceId)).toEqual(['done']);
  expect(scorer.inputs).toHaveLength(1);
});

test('a rule for failed tools takes a failure, and leaves out an interrupted and a cancelled tool', async () => {
  const sample = { rate: 0, always: ['tool-error' as const] };
  await startLoop(buildRule([new CountingScorer('a')], { sample }));
  const errors = ['(Interrupt(value=1),)', 'CancelledError', 'the bank said no'];
  const ids = errors.map(() => newTraceId());
  const say = chatSpan('say', { output: [chatMessage('assistant', 'Sorry.')] }, { parent: 'shop', at: 300 });
  for (const [index, traceId] of ids.entries()) {
    await ingest(store, [...askingSpans(traceId, errors[index]), { ...say, traceId }]);
  }
  await until(async () => (await Promise.all(ids.map(listDecisions))).every((rows) => rows.length > 0));
  expect(await Promise.all(ids.map(listDecisions))).toEqual([
    ['sampled_out sampled_out'],
    ['sampled_out sampled_out'],
    ['scored'],
  ]);
});
