import type { TargetKind } from './trace/agent-run.ts';

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

/** Scorer name of a decision about a whole rule. */
export const WHOLE_RULE = '*';

/** Start of the names of rules of a backfill. */
export const BACKFILL_RULES = 'backfill:';

/** Name of the rule of a command that scores one trace by scorers that it names. */
export const COMMAND_RULE = 'api';

/** Returns true for a rule of the configuration, not of a backfill or a command. */
export function isLiveRule(rule: string): boolean {
  return !rule.startsWith(BACKFILL_RULES) && rule !== COMMAND_RULE;
}

/** Sampling stratum of a score; detectors read `uniform` only. */
export type Stratum = 'uniform' | 'priority' | 'backfill' | 'none';

/**
 * The current decision for one (tenant, trace, target, rule, scorer): why the target was scored, or why not. Times are Unix
 * milliseconds; null means no time. `version` = evidenceUntil × 1024 + min(attempts, 1023): it depends on the evidence, never
 * on a clock.
 */
export interface Decision {
  tenant: string;
  traceId: string;
  target: TargetKind;
  targetId: string;
  rule: string;
  /** The name used in the rule, or `*` for a decision on the whole rule. */
  scorer: string;
  fingerprint: string;
  /** Agent and environment of the run; present where a scorer was tried on the run. */
  agent?: string;
  environment?: string;
  /** True when the run was read by the form of its values; absent otherwise. */
  readByShape?: boolean;
  status: DecisionStatus;
  /** A stable code, optionally followed by `: ` and a sentence. */
  reason: string;
  attempts: number;
  nextAttemptAt: number | null;
  inclusionProbability: number;
  weight: number | null;
  stratum: Stratum;
  revision: number;
  /** Time of the last arrival that this decision covers, Unix milliseconds. */
  evidenceUntil: number;
  evidenceHash: string;
  costUsd: number | null;
  decidedAt: number;
}

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
