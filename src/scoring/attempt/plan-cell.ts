import type { Decision, DecisionStatus } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import { readReasonCode } from './attempt-failure.ts';
import type { ScoringMode } from '../scoring-mode.ts';

/** Number of re-scores of one run by one scorer after which there is at most one per `LATE_WINDOW_MS`. */
export const MAX_RESCORES = 3;
export const LATE_WINDOW_MS = 24 * 3_600_000;

/** Facts that decide whether one scorer runs on one run. */
export interface CellFacts {
  /** Current decision row. */
  readonly prior: Decision | undefined;
  /** Current scores of this run, scorer and fingerprint. */
  readonly existing: readonly Score[];
  readonly fingerprint: string;
  readonly evidenceHash: string;
  /** Last arrival of the activity from before the content was read. */
  readonly evidenceUntilMs: number;
  readonly nowMs: number;
  /** True when new spans have an arrival that is not after the decided one. */
  readonly reread: boolean;
}

export type CellPlan =
  /** The decision is still right. */
  | { readonly action: 'keep' }
  /** Only the decision is written. */
  | {
      readonly action: 'decide';
      readonly status: DecisionStatus;
      readonly reason: string;
      readonly revision: number;
      readonly attempts: number;
      readonly nextAttemptAt: number | null;
      readonly evidenceHash: string;
    }
  | { readonly action: 'run'; readonly revision: number; readonly attempts: number };

/** Decides, without a judge call, whether a scorer has to run. */
export function planCell(facts: CellFacts, mode: Pick<ScoringMode, 'reuses' | 'retriesEarly'>): CellPlan {
  const { prior, existing, evidenceHash } = facts;
  const revision = computeRevision(facts);
  const isSameEvidence = prior !== undefined && prior.evidenceUntil >= facts.evidenceUntilMs;
  const attempts = isSameEvidence ? prior.attempts : 0;
  const run: CellPlan = { action: 'run', revision, attempts };
  if (!mode.reuses) {
    return run;
  }
  if (isSameEvidence && !facts.reread && isStanding(prior, facts, mode)) {
    return { action: 'keep' };
  }
  const decide = {
    action: 'decide',
    revision,
    attempts: attempts + 1,
    nextAttemptAt: null,
    evidenceHash,
  } as const;
  if (existing.some((score) => score.evidenceHash === evidenceHash)) {
    return { ...decide, status: 'scored', reason: isReuseNote(prior) ? prior.reason : '' };
  }
  if (prior === undefined || prior.fingerprint !== facts.fingerprint) {
    return run;
  }
  if (prior.evidenceHash === evidenceHash) {
    return isStanding(prior, facts, mode)
      ? { ...decide, status: prior.status, reason: prior.reason, nextAttemptAt: prior.nextAttemptAt }
      : run;
  }
  return isLimitReached(facts, prior)
    ? {
        ...decide,
        status: existing.length > 0 ? 'scored' : 'failed',
        reason: `late_limit: spans came after ${MAX_RESCORES} re-scores within a day; the last result stands`,
        revision: prior.revision,
        evidenceHash: prior.evidenceHash,
      }
    : run;
}

/** Returns true for a score whose reason notes that answers were reused: a new row keeps the note. */
function isReuseNote(prior: Decision | undefined): prior is Decision {
  return prior?.status === 'scored' && readReasonCode(prior.reason) === 'judge_reused';
}

/** Returns true for a final decision, and for a deferred one before its time. */
function isStanding(prior: Decision, facts: CellFacts, mode: Pick<ScoringMode, 'retriesEarly'>): boolean {
  if (prior.fingerprint !== facts.fingerprint) {
    return false;
  }
  if (prior.status === 'deferred') {
    return !mode.retriesEarly && (prior.nextAttemptAt ?? 0) > facts.nowMs;
  }
  // A `scored` row without a stored score does not count.
  return prior.status !== 'scored' || facts.existing.length > 0;
}

/** Computes the revision: one more than before when the evidence of an earlier result changed. An attempt without a result does not count. */
function computeRevision(facts: CellFacts): number {
  const { prior, existing, evidenceHash } = facts;
  const score = existing[0];
  if (score !== undefined) {
    const changed = existing.every((each) => each.evidenceHash !== evidenceHash);
    return changed ? Math.max(...existing.map((each) => each.revision)) + 1 : score.revision;
  }
  if (prior === undefined) {
    return 1;
  }
  const hadOutcome = prior.status !== 'deferred' && prior.evidenceHash !== '';
  return hadOutcome && prior.evidenceHash !== evidenceHash ? prior.revision + 1 : Math.max(prior.revision, 1);
}

/**
 * Returns true when a re-score has to wait. Only the time of the last result is stored. So after the third re-score there is at
 * most one in 24 hours, which is never more than three.
 */
function isLimitReached(facts: CellFacts, prior: Decision): boolean {
  if (prior.status === 'deferred' && facts.existing.length === 0) {
    return false;
  }
  const lastMs = Math.max(
    ...facts.existing.map((score) => score.scoredAt),
    prior.status === 'failed' ? prior.decidedAt : 0,
  );
  return prior.revision > MAX_RESCORES && facts.nowMs - lastMs < LATE_WINDOW_MS;
}
