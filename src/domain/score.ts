import type { TargetKind } from './agent-run.ts';
import type { Stratum } from './decision.ts';

export type ScoreSource = 'live' | 'backfill' | 'human' | 'api';

/** Finding of a judge on one statement, with its evidence. */
export interface Verdict {
  statement: string;
  verdict: string;
  reason?: string;
  /** Literal quote from the evidence, where the judge gave one. */
  quote?: string;
  /** The span that holds the evidence, 16 hex digits. */
  spanId?: string;
}

/** One row of `scores`. The columns of the table have the same names in PascalCase. Times are Unix milliseconds. */
export interface Score {
  scoreId: string;
  tenant: string;
  traceId: string;
  /** Span of the target (the root of the run), 16 hex digits; '' for a session. */
  spanId: string;
  target: TargetKind;
  targetId: string;
  sessionId: string;
  scorer: string;
  scorerVersion: string;
  fingerprint: string;
  judgeModel: string;
  promptVersion: string;
  score: number;
  label: string;
  higherIsBetter: boolean | null;
  scoreMin: number | null;
  scoreMax: number | null;
  reason: string;
  verdicts: Verdict[];
  serviceName: string;
  serviceVersion: string;
  agent: string;
  agentVersion: string;
  environment: string;
  model: string;
  userId: string;
  /** Start of the run, Unix milliseconds. */
  traceTimestamp: number;
  scoredAt: number;
  inputTokens: number | null;
  outputTokens: number | null;
  costUsd: number | null;
  judgeCalls: number;
  durationMs: number;
  /** Number of values that redaction removed before the judge received the text. */
  redactions: number;
  stratum: Stratum;
  inclusionProbability: number;
  weight: number | null;
  revision: number;
  completeness: 'partial' | 'complete';
  source: ScoreSource;
  evidenceHash: string;
  /** UTC day of the first score with this id, `YYYY-MM-DD`. It stays the same, so that a re-score replaces its row. */
  day: string;
  /** Time of the last arrival covered, Unix milliseconds; the version of the row is built from it. */
  evidenceUntil: number;
  isDeleted: boolean;
}

/** Rank of a source: for the same evidence, live replaces a backfill. */
const SOURCE_RANK: Record<ScoreSource, bigint> = { backfill: 0n, api: 1n, live: 2n, human: 3n };

/** Computes the version of a score row: evidence time in ms × 4 + rank of the source. */
export function scoreVersion(score: Pick<Score, 'evidenceUntil' | 'source'>): bigint {
  return BigInt(Math.trunc(score.evidenceUntil)) * 4n + SOURCE_RANK[score.source];
}
