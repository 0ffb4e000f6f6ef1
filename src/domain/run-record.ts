import { column, type RowOf, type Table, wordOf } from './table.ts';
import { TARGET_KINDS } from './trace/agent-run.ts';

/** Definition of `runs`. */
export const RUNS = {
  name: 'runs',
  columns: {
    tenant: column('LowCardinality(String)'),
    /** '' for a session. */
    traceId: column('String'),
    /** Root span of the run; '' for a session, and for a run that was not read. */
    spanId: column('String'),
    target: wordOf(TARGET_KINDS),
    targetId: column('String'),
    sessionId: column('String'),
    userId: column('String'),
    serviceName: column('LowCardinality(String)'),
    serviceVersion: column('LowCardinality(String)'),
    agent: column('LowCardinality(String)'),
    agentVersion: column('LowCardinality(String)'),
    environment: column('LowCardinality(String)'),
    /** Models that answered; the most used model comes first. */
    models: column('Array(LowCardinality(String))'),
    /** Token counts of the whole run. A count that the emitter did not send is null, as in a run that was not read. */
    inputTokens: column('Nullable(UInt64)'),
    outputTokens: column('Nullable(UInt64)'),
    totalTokens: column('Nullable(UInt64)'),
    reasoningTokens: column('Nullable(UInt64)'),
    cachedInputTokens: column('Nullable(UInt64)'),
    /** Cost of the run's own model calls, USD; null when a count or the price is unknown, or when several models answered. */
    costUsd: column('Nullable(Float64)'),
    startedAt: column("DateTime64(3, 'UTC')"),
    durationMs: column('Float64'),
    /** '' for a run that was not read. */
    status: wordOf(['ok', 'error', '']),
    errorType: column('LowCardinality(String)'),
    /** Tool calls of the run, without those of its sub-agents; null for a run that was not read. */
    toolCalls: column('Nullable(UInt32)'),
    toolErrors: column('Nullable(UInt32)'),
    /** Names of the tools that it called, without those of its sub-agents. */
    tools: column('Array(LowCardinality(String))'),
    /** Turns of a session; 1 for another run; null for a run that was not read. */
    turns: column('Nullable(UInt32)'),
    /** Code of the reason why the run cannot be scored; '' for a run that can, or that was not read. */
    notScorable: column('LowCardinality(String)'),
    /** Alternates between name and value: version of the prompt, length and language of the question, stores, own attributes. */
    facets: column('Array(LowCardinality(String))'),
    /** Beginning of the user's question in one line; '' without one, for a run that was not read, and once its spans have expired. */
    question: column('String'),
    /** The same of the answer. */
    answer: column('String'),
    /** The content of the run, or facts from a narrow query for a run that is not read. */
    readFrom: wordOf(['content', 'facts']),
    completeness: wordOf(['partial', 'complete']),
    /** Time of the last arrival covered; the version of the row is built from it. */
    evidenceUntil: column("DateTime64(3, 'UTC')"),
    isDeleted: column('UInt8'),
  },
  ofStore: { WrittenAt: "DateTime64(3, 'UTC')", Version: 'UInt64' },
} satisfies Table;

/** One row of `runs`. */
export type RunRecord = RowOf<typeof RUNS>;

/** Computes the version of a row: evidence time in ms × 2, and one more for a row that was read from the content. */
export function runVersion({
  evidenceUntil,
  readFrom,
}: Pick<RunRecord, 'evidenceUntil' | 'readFrom'>): bigint {
  return BigInt(Math.trunc(evidenceUntil)) * 2n + (readFrom === 'content' ? 1n : 0n);
}

/**
 * Ends of a call to a judge: its reply could be used, its reply came but could not be used (it is paid all the same), or no reply came.
 */
export const CALL_STATUSES = ['success', 'unusable', 'failed'] as const;
