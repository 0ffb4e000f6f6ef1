import { expect, it } from 'vitest';
import { scoreTraces } from '../../../src/scoring/score-traces.ts';
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
