import type { Decision, DecisionStatus } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import { formatCode } from './attempt-failure.ts';
import type { ScoringMode } from '../scoring-mode.ts';

/** Most re-scores of one run by one scorer within `LATE_WINDOW_MS`. */
export const MAX_RESCORES = 3;
export const LATE_WINDOW_MS = 24 * 3_600_000;

/** All that decides what is to be done about one scorer on one run. */
export interface CellFacts {
  /** The current decision row. */
  readonly prior: Decision | undefined;
  /** Current scores of this run, scorer and fingerprint. */
  readonly existing: readonly Score[];
  readonly fingerprint: string;
  readonly evidenceHash: string;
  /** The activity's last arrival, taken before reading. */
  readonly evidenceUntilMs: number;
  readonly nowMs: number;
  /** Spans came whose arrival is not newer than what was decided. */
  readonly reread: boolean;
}

export type CellPlan =
  /** The decision stands as it is. */
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

/** Decides without any judge call whether a judge call is needed. */
export function planCell(facts: CellFacts, mode: Pick<ScoringMode, 'reuses' | 'retriesEarly'>): CellPlan {
  const { prior, existing, evidenceHash } = facts;
  const revision = computeRevision(facts);
  const samePass = prior !== undefined && prior.evidenceUntil >= facts.evidenceUntilMs;
  const attempts = samePass ? prior.attempts : 0;
  const run: CellPlan = { action: 'run', revision, attempts };
  if (!mode.reuses) {
    return run;
  }
  if (samePass && !facts.reread && isStanding(prior, facts, mode)) {
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
  return limitReached(facts, prior)
    ? {
        ...decide,
        status: existing.length > 0 ? 'scored' : 'failed',
        reason: `late_limit: spans came after ${MAX_RESCORES} re-scores within a day; the last result stands`,
        revision: prior.revision,
        evidenceHash: prior.evidenceHash,
      }
    : run;
}

/** A note on how the score came about, which is as true as before. */
function isReuseNote(prior: Decision | undefined): prior is Decision {
  return prior?.status === 'scored' && formatCode(prior.reason) === 'judge_reused';
}

/** A final decision stands; a deferred one until its time. */
function isStanding(prior: Decision, facts: CellFacts, mode: Pick<ScoringMode, 'retriesEarly'>): boolean {
  if (prior.fingerprint !== facts.fingerprint) {
    return false;
  }
  if (prior.status === 'deferred') {
    return !mode.retriesEarly && (prior.nextAttemptAt ?? 0) > facts.nowMs;
  }
  // A score that is gone (or never came to be) is not a decision that stands.
  return prior.status !== 'scored' || facts.existing.length > 0;
}

/** Raised when the evidence of an earlier outcome changed; a try that never had one does not count. */
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
 * Only the last outcome's time is kept, not those before: beyond the third re-score there is at most one in 24 hours, which
 * is never more than three.
 */
function limitReached(facts: CellFacts, prior: Decision): boolean {
  if (prior.status === 'deferred' && facts.existing.length === 0) {
    return false;
  }
  const lastMs = Math.max(
    ...facts.existing.map((score) => score.scoredAt),
    prior.status === 'failed' ? prior.decidedAt : 0,
  );
  return prior.revision > MAX_RESCORES && facts.nowMs - lastMs < LATE_WINDOW_MS;
}
