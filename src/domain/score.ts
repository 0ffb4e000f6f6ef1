import type { TargetKind } from './trace/agent-run.ts';
import type { Stratum } from './decision.ts';

export type ScoreSource = 'live' | 'backfill' | 'human' | 'api';

/** Kinds of what a judge sees of a run. Prebuilt scorers always see question and answer. */
export const SEEN_KINDS = [
  'question',
  'answer',
  'system',
  'user',
  'turns',
  'calls',
  'tool-results',
  'documents',
] as const;
export type SeenKind = (typeof SEEN_KINDS)[number];

/** Finding of a judge on one statement, with its evidence. */
export interface Verdict {
  statement: string;
  verdict: string;
  reason?: string;
  /** Literal quote from the evidence, where the judge gave one. */
  quote?: string;
  /** Kind of the evidence: `system`, `user`, `turns`, `tool-results` or `documents`. */
  source?: string;
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
  /** Author of a score that a person or a program of the user has sent; '' for a score of spanscore. */
  scoredBy: string;
  evidenceHash: string;
  /** UTC day of the first score with this id, `YYYY-MM-DD`. It stays the same, so that a re-score replaces its row. */
  day: string;
  /** Time of the last arrival covered, Unix milliseconds; the version of the row is built from it. */
  evidenceUntil: number;
  isDeleted: boolean;
}

/** 2020-01-01, Unix milliseconds. */
const VERSION_EPOCH_MS = Date.UTC(2020, 0, 1);

/** Greatest revision that a version tells apart. */
const MAX_VERSION_REVISION = 127;

/** Rank of a source: for the same evidence, live replaces a backfill. */
const SOURCE_RANK: Record<ScoreSource, bigint> = { backfill: 0n, api: 1n, live: 2n, human: 3n };

/**
 * Computes the version of a score row: of two rows with one id the greater version is current. By evidence, then source, then
 * revision, then a tombstone over its row. The store adds the time of the write in the lowest 14 bits
 * (`schemas/clickhouse`), so that of equal rows the first one stays.
 */
export function scoreVersion(
  score: Pick<Score, 'evidenceUntil' | 'source' | 'revision' | 'isDeleted'>,
): bigint {
  const evidence = BigInt(Math.max(Math.trunc(score.evidenceUntil) - VERSION_EPOCH_MS, 0));
  const revision = BigInt(Math.min(score.revision, MAX_VERSION_REVISION));
  return (
    (evidence << 24n) |
    (SOURCE_RANK[score.source] << 22n) |
    (revision << 15n) |
    (score.isDeleted ? 1n << 14n : 0n)
  );
}

/** Share of a range by which a score may miss it: sums of weights are seldom exact. */
const ROUNDING = 1e-9;

/**
 * Says that a score is outside of the range of its scorer, as `-1.56 is outside of [0, 1], the range of tone`; undefined when it is inside, or without
 * a range.
 */
export function describeOutside(
  scorer: string,
  score: number,
  range: readonly [number, number] | null,
): string | undefined {
  if (range === null) {
    return undefined;
  }
  const [least, most] = range;
  const slack = (most - least) * ROUNDING;
  return score < least - slack || score > most + slack
    ? `${score} is outside of [${least}, ${most}], the range of ${scorer}`
    : undefined;
}
