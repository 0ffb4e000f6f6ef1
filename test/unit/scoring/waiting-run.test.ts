import { expect, it } from 'vitest';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
import { createBehaviourScorer } from '../../../src/scorers/prebuilt/behaviour.ts';
import { buildSpan, chatMessage, chatSpan, toolCall } from '../../support/builders/spans.ts';
import { createJoiningScoring } from '../../support/builders/pieces.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import { buildLiveMode, buildRule, CountingScorer } from '../../support/scoring/scoring-world.ts';

const QUIET_MS = 60_000;

it('a run that waits has no score, and is scored when the rest comes in its trace', async () => {
  const store = new MemoryStore();
  const mode = await buildLiveMode(store, buildRule([new CountingScorer('a')], {}));
  const scoring = createJoiningScoring(store.stores, { monotonicMs: () => store.clockMs });
  const question = chatMessage('user', 'Refund order 7.');
  const asks = [chatMessage('assistant', toolCall('c1', 'refund', { order: 7 }))];
  const run = buildSpan('run', { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'shop' });
  const key = { tenant: '', traceId: run.traceId };
  const send = async (...spans: (typeof run)[]) => {
    store.ingest(spans);
    store.clockMs += QUIET_MS;
    await scoreTraces(scoring, [key], mode);
    return store.decisions().map(({ status, reason }) => `${status} ${reason.split(':')[0]}`.trim());
  };
  expect(
    await send(run, chatSpan('c1', { input: [question], output: asks }, { parent: 'run', at: 1 })),
  ).toEqual(['not_applicable run_waiting']);
  expect(store.scores()).toEqual([]);
  const tool = {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'refund',
    'gen_ai.tool.call.id': 'c1',
  };
  const later = await send(
    buildSpan('t1', { ...tool, 'gen_ai.tool.call.result': 'done' }, { parent: 'run', at: 200 }),
    chatSpan('c2', { output: [chatMessage('assistant', 'Refunded.')] }, { parent: 'run', at: 300 }),
  );
  expect(later).toContain('scored');
  expect(store.scores()).toHaveLength(1);
});

it('a score of an answer that was cut at the output limit says so in its reason', async () => {
  const store = new MemoryStore();
  const scorer = new CountingScorer('a', () => ({ score: 1, reason: 'It is good.' }));
  const mode = await buildLiveMode(store, buildRule([scorer], {}));
  const scoring = createJoiningScoring(store.stores, { monotonicMs: () => store.clockMs });
  const said = { role: 'assistant', parts: [{ type: 'text', content: 'It rai' }], finish_reason: 'length' };
  const span = chatSpan('say', { input: [chatMessage('user', 'Weather?')], output: [said] });
  store.ingest([span]);
  store.clockMs += QUIET_MS;
  await scoreTraces(scoring, [{ tenant: '', traceId: span.traceId }], mode);
  expect(store.scores().map(({ reason }) => reason)).toEqual([
    "It is good. (the answer was cut at the model's output limit)",
  ]);
});

it('a run that failed before its answer has the measures of what it did, and no score of an answer', async () => {
  const store = new MemoryStore();
  const rule = buildRule([createBehaviourScorer(), new CountingScorer('a')]);
  const mode = await buildLiveMode(store, {
    ...rule,
    scorers: rule.scorers.map((bound) => ({ ...bound, readsPast: bound.name === 'behaviour' })),
  });
  const scoring = createJoiningScoring(store.stores, { monotonicMs: () => store.clockMs });
  const asked = { input: [chatMessage('user', 'Weather?')] };
  const failed = chatSpan('say', asked, { error: 'HTTP 500' });
  const score = async () => {
    store.clockMs += QUIET_MS;
    await scoreTraces(scoring, [{ tenant: '', traceId: failed.traceId }], mode);
    return store.decisions().map((row) => `${row.scorer} ${row.status} ${row.reason.split(':')[0]}`.trim());
  };
  store.ingest([failed]);
  expect(await score()).toEqual(['behaviour scored', 'a not_applicable run_errored_before_output']);
  const answered = () => store.scores().find(({ scorer }) => scorer === 'behaviour-answered');
  expect(answered()).toMatchObject({ score: 0, reason: 'none' });
  expect(store.scores().filter(({ scorer }) => scorer === 'a')).toEqual([]);

  const output = [chatMessage('assistant', 'It rains.')];
  store.ingest([chatSpan('again', { ...asked, output }, { at: 5_000 })]);
  expect((await score()).toSorted()).toEqual(['a scored', 'behaviour scored']);
  expect(answered()).toMatchObject({ score: 1 });
});
