import { afterEach, expect, it } from 'vitest';
import { NO_WAITS } from '../../../src/scoring/record/group-commit.ts';
import { createWriters } from '../../../src/scoring/scoring.ts';
import { StoreUnavailableError } from '../../../src/domain/errors.ts';
import type { JudgeCallRecord } from '../../../src/domain/judge-call.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { aScore } from '../../support/builders/a-score.ts';
import { MemoryStore } from '../../support/fakes/memory-store.ts';
import { metricValue } from '../../support/documents/metric-lines.ts';
import { buildDecision } from '../../support/store/store-rows.ts';

const metrics = createMetrics({ version: '1', log: silentLog });
afterEach(() => metrics.stop());

const CALL: JudgeCallRecord = {
  tenant: '',
  traceId: '',
  scoreId: '',
  scorer: 'hallucination',
  step: 'analyze',
  model: 'openai/gpt-5-mini',
  servedModel: '',
  status: 'success',
  prompt: '',
  reply: '',
  error: '',
  inputTokens: 100,
  outputTokens: 7,
  costUsd: 0.25,
  durationMs: 500,
  calledAtMs: 0,
};

it('writers of rows count the rows that the store took', async () => {
  const memory = new MemoryStore();
  const { decisionWriter, scoreWriter, callWriter } = createWriters(
    { stores: memory.stores, metrics },
    { commitPace: NO_WAITS, judgedPace: NO_WAITS, giveTurns: async () => undefined },
  );
  await decisionWriter.write([buildDecision({ status: 'scored' }), buildDecision({ status: 'failed' })]);
  await decisionWriter.write([buildDecision({ status: 'scored' })]);
  await scoreWriter.write([aScore(), aScore({ isDeleted: true })]);
  await callWriter.write([
    CALL,
    { ...CALL, status: 'failed', inputTokens: null, outputTokens: null, costUsd: null },
  ]);
  memory.failing = () => true;
  await expect(decisionWriter.write([buildDecision({ status: 'scored' })])).rejects.toThrow(
    StoreUnavailableError,
  );

  const text = await metrics.text();
  const values = (series: Record<string, number>) =>
    expect(Object.fromEntries(Object.keys(series).map((name) => [name, metricValue(text, name)]))).toEqual(
      series,
    );
  values({
    'spanscore_decisions_total{status="scored"}': 2,
    'spanscore_decisions_total{status="failed"}': 1,
    'spanscore_scores_written_total{scorer="hallucination"}': 1,
    'spanscore_judge_calls_total{model="openai/gpt-5-mini",status="success"}': 1,
    'spanscore_judge_calls_total{model="openai/gpt-5-mini",status="failed"}': 1,
    'spanscore_judge_tokens_total{model="openai/gpt-5-mini",type="input"}': 100,
    'spanscore_judge_tokens_total{model="openai/gpt-5-mini",type="output"}': 7,
    'spanscore_judge_duration_seconds_sum{model="openai/gpt-5-mini"}': 1,
  });
  expect(memory.judgeCallRows).toHaveLength(2);
});
