import type { RunRecord } from '../../../src/domain/run-record.ts';
import { newSpanId, newTraceId } from './store-rows.ts';

/** Builds the record of a run that was read. */
export function buildRunRecord(fields: Partial<RunRecord> = {}): RunRecord {
  const traceId = fields.traceId ?? newTraceId();
  return {
    tenant: '',
    traceId,
    spanId: newSpanId(),
    target: 'trace',
    targetId: traceId,
    sessionId: 'sess-1',
    userId: 'user-9',
    serviceName: 'shop',
    serviceVersion: '2.1',
    agent: 'weather-agent',
    agentVersion: '1.0',
    environment: 'production',
    models: ['gpt-5-mini', 'gpt-5'],
    inputTokens: 193,
    outputTokens: 31,
    totalTokens: 224,
    reasoningTokens: null,
    cachedInputTokens: null,
    costUsd: null,
    startedAt: 1_763_700_000_123,
    durationMs: 1_500.5,
    status: 'ok',
    errorType: '',
    toolCalls: 2,
    toolErrors: 1,
    tools: ['get_weather'],
    turns: 1,
    notScorable: '',
    facets: [],
    question: '',
    answer: '',
    readFrom: 'content',
    completeness: 'complete',
    evidenceUntil: 1_763_700_001_456,
    isDeleted: false,
    ...fields,
  };
}
