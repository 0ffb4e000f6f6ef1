import { CALL_STATUSES } from './run-record.ts';
import { column, wordOf, type RowOf, type Table } from './table.ts';

/** Definition of `judge_calls`: judge calls, for audit and cost. */
export const JUDGE_CALLS = {
  name: 'judge_calls',
  columns: {
    tenant: column('LowCardinality(String)'),
    traceId: column('String'),
    scoreId: column('String'),
    scorer: column('LowCardinality(String)'),
    /** Step of the scorer that asked; '' when unknown. */
    step: column('LowCardinality(String)'),
    model: column('LowCardinality(String)'),
    /** Name of the model that answered, by its provider; '' where the reply names none. */
    servedModel: column('LowCardinality(String)'),
    status: wordOf(
      CALL_STATUSES,
      '`unusable`: the reply came, and is paid, but the scorer could not use it.',
    ),
    prompt: column('String'),
    reply: column('String'),
    /** '' for a success. */
    error: column('String'),
    inputTokens: column('Nullable(UInt64)'),
    outputTokens: column('Nullable(UInt64)'),
    costUsd: column('Nullable(Float64)'),
    durationMs: column('Float64'),
    calledAtMs: column("DateTime64(3, 'UTC')"),
  },
  ofStore: { WrittenAt: "DateTime64(3, 'UTC')" },
} satisfies Table;

export type JudgeCallRecord = RowOf<typeof JUDGE_CALLS>;
