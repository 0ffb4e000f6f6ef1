import type { TargetKind } from './agent-run.ts';

/**
 * `scored` · `filtered` · `sampled_out` · `not_applicable` (final until new spans come) · `deferred` (tried again at
 * `nextAttemptAt`) · `failed` (final for this evidence).
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

/** The scorer name of a decision that is about a whole rule. */
export const WHOLE_RULE = '*';

/** Sampling stratum of a score; detectors read `uniform` only. */
export type Stratum = 'uniform' | 'priority' | 'backfill' | 'none';

/**
 * The current decision for one (tenant, trace, target, rule, scorer): why it was scored or was not. Times are Unix
 * milliseconds, null for none. `version` = evidenceUntil × 1024 + min(attempts, 1023), from evidence, never from a clock.
 */
export interface Decision {
  tenant: string;
  traceId: string;
  target: TargetKind;
  targetId: string;
  rule: string;
  /** The name used in the rule, or `*` for a verdict on the whole rule. */
  scorer: string;
  fingerprint: string;
  /** Facets of the run, where a scorer was tried on it. */
  agent?: string;
  environment?: string;
  status: DecisionStatus;
  /** A stable code, optionally followed by `: ` and a sentence. */
  reason: string;
  attempts: number;
  nextAttemptAt: number | null;
  inclusionProbability: number;
  weight: number | null;
  stratum: Stratum;
  revision: number;
  /** Last arrival that this decision has seen, Unix milliseconds. */
  evidenceUntil: number;
  evidenceHash: string;
  costUsd: number | null;
  decidedAt: number;
}

/** The version of a decision row (`pipeline`: w in ms × 1024 + attempts). */
export function decisionVersion(decision: Pick<Decision, 'evidenceUntil' | 'attempts'>): bigint {
  return BigInt(Math.trunc(decision.evidenceUntil)) * 1024n + BigInt(Math.min(decision.attempts, 1023));
}
