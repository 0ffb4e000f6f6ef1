import { column, optional, wordOf, type RowOf, type Table } from './table.ts';
import { TARGET_KINDS } from './trace/agent-run.ts';

/**
 * Statuses of a decision: `scored` · `filtered` · `sampled_out` · `not_applicable` (final until new spans arrive) · `deferred`
 * (retried at `nextAttemptAt`) · `failed` (final for this evidence).
 */
export const DECISION_STATUSES = [
  'scored',
  'filtered',
  'sampled_out',
  'not_applicable',
  'deferred',
  'failed',
] as const;
export type DecisionStatus = (typeof DECISION_STATUSES)[number];

export const WHOLE_RULE = '*';

export const BACKFILL_RULES = 'backfill:';

/** Name of the rule of a command that scores one trace by scorers that it names. */
export const COMMAND_RULE = 'api';

/** Returns true for a rule of the configuration, not of a backfill or a command. */
export function isLiveRule(rule: string): boolean {
  return !rule.startsWith(BACKFILL_RULES) && rule !== COMMAND_RULE;
}

/** Sampling strata of a score; detectors read `uniform` only. */
export const STRATA = ['uniform', 'priority', 'backfill', 'none'] as const;
export type Stratum = (typeof STRATA)[number];

/** Meaning of the column `Target` of scores and decisions. */
export const TARGET_MEANING = 'Kind of the thing that the score is about.';

/** Definition of `decisions`. */
export const DECISIONS = {
  name: 'decisions',
  columns: {
    tenant: column('LowCardinality(String)'),
    traceId: column('String'),
    target: wordOf(TARGET_KINDS, TARGET_MEANING),
    targetId: column('String'),
    rule: column('LowCardinality(String)'),
    scorer: column('LowCardinality(String)', '`*` for a decision on the whole rule.'),
    fingerprint: column('LowCardinality(String)'),
    /** Agent and environment of the run; present where a scorer was tried on the run. */
    agent: optional(column('LowCardinality(String)')),
    environment: optional(column('LowCardinality(String)')),
    readByShape: optional(
      column('Bool'),
      'True when the run was read by the form of its values; absent otherwise.',
    ),
    status: wordOf(DECISION_STATUSES),
    reason: column('String', 'A stable code, optionally followed by `: ` and a sentence.'),
    attempts: column('UInt32'),
    nextAttemptAt: column("Nullable(DateTime64(3, 'UTC'))"),
    inclusionProbability: column('Float64'),
    weight: column('Nullable(Float64)'),
    stratum: wordOf(STRATA),
    revision: column('UInt32'),
    /** Time of the last arrival that this decision covers. */
    evidenceUntil: column("DateTime64(3, 'UTC')"),
    evidenceHash: column('String'),
    costUsd: column('Nullable(Float64)'),
    decidedAt: column("DateTime64(3, 'UTC')"),
  },
  ofStore: { Version: 'UInt64', WrittenAt: "DateTime64(3, 'UTC')" },
} satisfies Table;

/**
 * The current decision for one (tenant, trace, target, rule, scorer): why the target was scored, or why not. `version` = evidenceUntil ×
 * 1024 + min(attempts, 1023): it depends on the evidence, never on a clock.
 */
export type Decision = RowOf<typeof DECISIONS>;

/** Code of the reason of a decision that a budget holds back, and of one that it held back for too long. */
export const HELD_BACK = 'budget_exhausted';

/** Returns true for a decision that waits for money of a budget. */
export function isHeldBack({ status, reason }: Pick<Decision, 'status' | 'reason'>): boolean {
  return status === 'deferred' && reason.startsWith(HELD_BACK);
}

/** Computes the version of a decision row: evidence time in ms × 1024 + attempts. */
export function decisionVersion(decision: Pick<Decision, 'evidenceUntil' | 'attempts'>): bigint {
  return BigInt(Math.trunc(decision.evidenceUntil)) * 1024n + BigInt(Math.min(decision.attempts, 1023));
}

/** Number of decisions by status. A status without any is left out. */
export type StatusCounts = Readonly<Partial<Record<DecisionStatus, number>>>;
