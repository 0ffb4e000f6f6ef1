import type { TargetKind } from './trace/agent-run.ts';

/** Source of a run record: the content of the run, or facts from a narrow query for a run that is not read. */
type RunOrigin = 'content' | 'facts';

/** One row of `runs`. The columns of the table have the same names in PascalCase. Times are Unix milliseconds. */
export interface RunRecord {
  tenant: string;
  /** '' for a session. */
  traceId: string;
  /** Root span of the run; '' for a session, and for a run that was not read. */
  spanId: string;
  target: TargetKind;
  targetId: string;
  sessionId: string;
  userId: string;
  serviceName: string;
  serviceVersion: string;
  agent: string;
  agentVersion: string;
  environment: string;
  /** Models that answered; the most used model comes first. */
  models: readonly string[];
  /** Token counts of the whole run. A count that the emitter did not send is null, as in a run that was not read. */
  inputTokens: number | null;
  outputTokens: number | null;
  totalTokens: number | null;
  reasoningTokens: number | null;
  cachedInputTokens: number | null;
  /** Cost of the run's own model calls, USD; null when a count or the price is unknown, or when several models answered. */
  costUsd: number | null;
  startedAt: number;
  durationMs: number;
  /** '' for a run that was not read. */
  status: 'ok' | 'error' | '';
  errorType: string;
  /** Tool calls of the run, without those of its sub-agents; null for a run that was not read. */
  toolCalls: number | null;
  toolErrors: number | null;
  /** Turns of a session; 1 for another run; null for a run that was not read. */
  turns: number | null;
  /** Code of the reason why the run cannot be scored; '' for a run that can, or that was not read. */
  notScorable: string;
  readFrom: RunOrigin;
  completeness: 'partial' | 'complete';
  /** Time of the last arrival covered; the version of the row is built from it. */
  evidenceUntil: number;
  isDeleted: boolean;
}

/** Computes the version of a row: evidence time in ms × 2, and one more for a row that was read from the content. */
export function runVersion({
  evidenceUntil,
  readFrom,
}: Pick<RunRecord, 'evidenceUntil' | 'readFrom'>): bigint {
  return BigInt(Math.trunc(evidenceUntil)) * 2n + (readFrom === 'content' ? 1n : 0n);
}
