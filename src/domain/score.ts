import { STRATA, TARGET_MEANING } from './decision.ts';
import { column, listOf, wordOf, type RowOf, type Table } from './table.ts';
import { TARGET_KINDS } from './trace/agent-run.ts';

export const SCORE_SOURCES = ['live', 'backfill', 'human', 'api'] as const;
export type ScoreSource = (typeof SCORE_SOURCES)[number];

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
  /** Word of the judge; of a decision judge the likeliest option, or `refused` for a question that it declined. */
  verdict: string;
  /** Probability of that option, as a decision judge gave it. */
  probability?: number;
  probabilities?: Readonly<Record<string, number>>;
  reason?: string;
  /** Literal quote from the evidence, where the judge gave one. */
  quote?: string;
  /** Kind of the evidence: `system`, `user`, `turns`, `tool-results` or `documents`. */
  source?: string;
  /** The span that holds the evidence, 16 hex digits. */
  spanId?: string;
}

/** Verdicts that speak against an answer, whatever the scorer. */
export const BAD_VERDICTS: ReadonlySet<string> = new Set([
  'contradicted',
  'unsupported',
  'broken',
  'not fulfilled',
  'inappropriate',
  'unanswered',
  'missing',
  'unneeded',
  'wrong arguments',
  'out of order',
  'biased',
  'toxic',
]);

/** Lists the verdicts of a judge that speak against the answer without a reason; for an own judge, its answer. */
export function listUnexplained<
  Found extends { readonly verdict: string; readonly reason?: string | undefined },
>({
  verdicts,
  judgeModel,
  label,
}: {
  readonly verdicts: readonly Found[];
  readonly judgeModel: string;
  readonly label: string;
}): Found[] {
  if (judgeModel === '') {
    return [];
  }
  const silent = verdicts.filter(({ reason = '' }) => reason === '');
  const bad = silent.filter(({ verdict }) => BAD_VERDICTS.has(verdict));
  return bad.length > 0 ? bad : silent.filter(({ verdict }) => verdict === label);
}

/** Definition of `scores`. */
export const SCORES = {
  name: 'scores',
  columns: {
    scoreId: column('UUID'),
    tenant: column('LowCardinality(String)'),
    traceId: column('String', "'' for a session."),
    /** Span of the target (the root of the run), 16 hex digits; '' for a session. */
    spanId: column('String'),
    target: wordOf(TARGET_KINDS, TARGET_MEANING),
    targetId: column('String'),
    sessionId: column('String'),
    scorer: column('LowCardinality(String)'),
    scorerVersion: column('LowCardinality(String)'),
    fingerprint: column('LowCardinality(String)', 'Changes with the scorer or its judge: another series.'),
    judgeModel: column('LowCardinality(String)'),
    promptVersion: column('LowCardinality(String)'),
    score: column('Float64'),
    confidence: column(
      'Nullable(Float64)',
      'Mean probability of the winning options; null for a judge that gives none.',
    ),
    rung: column(
      'UInt16',
      '0 without a cascade, 1: the first judge alone, 2: the second judge was asked, too.',
    ),
    rungProbability: column(
      'Nullable(Float64)',
      'Probability with which the second judge of a cascade was asked; null without a cascade.',
    ),
    firstScore: column('Nullable(Float64)', 'Score of the first judge; without a cascade the score itself.'),
    label: column('LowCardinality(String)'),
    higherIsBetter: column('Nullable(Bool)'),
    scoreMin: column('Nullable(Float64)'),
    scoreMax: column('Nullable(Float64)'),
    reason: column('String'),
    verdicts: listOf<Verdict>(),
    serviceName: column('LowCardinality(String)'),
    serviceVersion: column('LowCardinality(String)'),
    agent: column('LowCardinality(String)'),
    agentVersion: column('LowCardinality(String)'),
    environment: column('LowCardinality(String)'),
    model: column('LowCardinality(String)'),
    userId: column('String'),
    traceTimestamp: column("DateTime64(9, 'UTC')", 'Start of the run.'),
    scoredAt: column("DateTime64(9, 'UTC')"),
    inputTokens: column('Nullable(UInt64)'),
    outputTokens: column('Nullable(UInt64)'),
    costUsd: column('Nullable(Float64)'),
    judgeCalls: column('UInt32', 'Number of calls.'),
    durationMs: column('Float64'),
    /** Number of values that redaction removed before the judge received the text. */
    redactions: column('UInt32'),
    stratum: wordOf(STRATA),
    inclusionProbability: column('Float64'),
    weight: column('Nullable(Float64)'),
    revision: column('UInt32'),
    completeness: wordOf(['partial', 'complete']),
    source: wordOf(SCORE_SOURCES),
    scoredBy: column('LowCardinality(String)', "Author of a posted score; '' for a score of spanscore."),
    evidenceHash: column('String'),
    /** UTC day of the first score with this id, `YYYY-MM-DD`. It stays the same, so that a re-score replaces its row. */
    day: column('Date'),
    /** Time of the last arrival covered; the version of the row is built from it. */
    evidenceUntil: column("DateTime64(3, 'UTC')"),
    isDeleted: column('UInt8'),
  },
  ofStore: { WrittenAt: "DateTime64(3, 'UTC')", Version: 'UInt64' },
} satisfies Table;

/** One row of `scores`. */
export type Score = RowOf<typeof SCORES>;

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
