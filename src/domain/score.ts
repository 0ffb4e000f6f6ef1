import type { TargetKind } from './agent-run.ts';
import type { Stratum } from './decision.ts';

export type ScoreSource = 'live' | 'backfill' | 'human' | 'api';

/** A judge's finding on one statement, with the evidence that it rests on. */
export interface Verdict {
  statement: string;
  verdict: string;
  reason?: string;
  /** Literal quote of the evidence, where the judge gave one. */
  quote?: string;
  /** The span that holds the evidence, 16 hex digits. */
  spanId?: string;
}

/** One row of `scores`; in the table the columns are the same names in PascalCase. Times are Unix milliseconds. */
export interface Score {
  scoreId: string;
  tenant: string;
  traceId: string;
  /** The target's span (the run's root), 16 hex digits; '' for a session. */
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
  /** Number of values that redaction removed before the judge saw the material. */
  redactions: number;
  stratum: Stratum;
  inclusionProbability: number;
  weight: number | null;
  revision: number;
  completeness: 'partial' | 'complete';
  source: ScoreSource;
  evidenceHash: string;
  /** UTC day of the first score of this id, `YYYY-MM-DD`; frozen, so that a re-score replaces its row. */
  day: string;
  /** Last arrival seen, Unix milliseconds; the version is built from it. */
  evidenceUntil: number;
  isDeleted: boolean;
}

/** Rank of a source: live wins over a backfill of the same evidence. */
const SOURCE_RANK: Record<ScoreSource, bigint> = { backfill: 0n, api: 1n, live: 2n, human: 3n };

/** The version of a score row (`pipeline`: w in ms × 4 + rank). */
export function scoreVersion(score: Pick<Score, 'evidenceUntil' | 'source'>): bigint {
  return BigInt(Math.trunc(score.evidenceUntil)) * 4n + SOURCE_RANK[score.source];
}
