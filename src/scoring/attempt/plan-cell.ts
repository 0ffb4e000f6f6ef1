import type { Decision, DecisionStatus } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import { readReasonCode } from './attempt-failure.ts';
import type { Redo, ScoringMode } from '../scoring-mode.ts';

/** Number of re-scores of one run by one scorer after which there is at most one per `LATE_WINDOW_MS`. */
const MAX_RESCORES = 3;
const LATE_WINDOW_MS = 24 * 3_600_000;

/** Facts that decide whether one scorer runs on one run. */
export interface CellFacts {
  /** Current decision row. */
  readonly prior: Decision | undefined;
  /** Current scores of this run, scorer and fingerprint. */
  readonly existing: readonly Score[];
  /** True when a score of the fingerprint of `prior` is current. */
  readonly hasPriorScore: boolean;
  /** False for a session: the wait for it limits its re-scores. */
  readonly isLimited: boolean;
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
      /** Fingerprint of the result that stands: an earlier one when the scorer's configuration changed after it. */
      readonly fingerprint: string;
      readonly status: DecisionStatus;
      readonly reason: string;
      readonly revision: number;
      readonly attempts: number;
      readonly nextAttemptAt: number | null;
      readonly evidenceHash: string;
    }
  | { readonly action: 'run'; readonly revision: number; readonly attempts: number };

type PlanMode = Pick<ScoringMode, 'reuses' | 'retriesEarly' | 'keepsFormerResults' | 'redo'>;

/** Decides, without a judge call, whether a scorer has to run. */
export function planCell(facts: CellFacts, mode: PlanMode): CellPlan {
  return planRedo(facts, mode) ?? planAttempt(facts, mode);
}

/** Plans a decision that a repair makes again: the scorer runs once, also beside a stored result. Null for any other decision. */
function planRedo(facts: CellFacts, mode: PlanMode): CellPlan | null {
  const { prior, existing, evidenceHash, fingerprint } = facts;
  const { redo } = mode;
  if (redo === null || !redo.selects(prior)) {
    return null;
  }
  const attempts = countAttempts(facts);
  if (existing.length === 0) {
    return { action: 'run', revision: computeRevision(facts, mode), attempts };
  }
  const revision = maxRevision(existing);
  return existing.some((score) => isResultOf(redo, score, evidenceHash))
    ? {
        action: 'decide',
        fingerprint,
        status: 'scored',
        reason: '',
        revision,
        attempts: attempts + 1,
        nextAttemptAt: null,
        evidenceHash,
      }
    : { action: 'run', revision: revision + 1, attempts };
}

function planAttempt(facts: CellFacts, mode: PlanMode): CellPlan {
  const { prior, existing, evidenceHash } = facts;
  const revision = computeRevision(facts, mode);
  const isSameEvidence = prior !== undefined && prior.evidenceUntil >= facts.evidenceUntilMs;
  const attempts = countAttempts(facts);
  const run: CellPlan = { action: 'run', revision, attempts };
  if (!mode.reuses) {
    return run;
  }
  if (isSameEvidence && !facts.reread && isStanding(prior, facts, mode)) {
    return { action: 'keep' };
  }
  const decide = {
    action: 'decide',
    fingerprint: facts.fingerprint,
    revision,
    attempts: attempts + 1,
    nextAttemptAt: null,
    evidenceHash,
  } as const;
  if (existing.some((score) => score.evidenceHash === evidenceHash)) {
    return { ...decide, status: 'scored', reason: isReuseNote(prior) ? prior.reason : '' };
  }
  if (prior === undefined) {
    return run;
  }
  if (prior.evidenceHash === evidenceHash) {
    const { fingerprint, status, reason, nextAttemptAt } = prior;
    return isStanding(prior, facts, mode) ? { ...decide, fingerprint, status, reason, nextAttemptAt } : run;
  }
  if (prior.fingerprint !== facts.fingerprint) {
    return run;
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

/** Counts the attempts at the present evidence. */
function countAttempts({ prior, evidenceUntilMs }: CellFacts): number {
  return prior !== undefined && prior.evidenceUntil >= evidenceUntilMs ? prior.attempts : 0;
}

/** Returns true for a score that a repair has written on this evidence: it is not made again. */
export function isResultOf(
  redo: Redo,
  score: Pick<Score, 'evidenceHash' | 'scoredAt'>,
  evidenceHash: string,
): boolean {
  return score.evidenceHash === evidenceHash && score.scoredAt >= redo.sinceMs;
}

function maxRevision(scores: readonly Score[]): number {
  return Math.max(...scores.map((score) => score.revision));
}

/** Returns true for a score whose reason notes that answers were reused: a new row keeps the note. */
function isReuseNote(prior: Decision | undefined): prior is Decision {
  return prior?.status === 'scored' && readReasonCode(prior.reason) === 'judge_reused';
}

/**
 * Returns true for a final decision, and for a deferred one before its time. A result of the same evidence stands after a
 * change of the scorer's configuration, too: live scoring never judges the same evidence twice. An attempt without a result is
 * made again with the new configuration.
 */
function isStanding(prior: Decision, facts: CellFacts, mode: PlanMode): boolean {
  const isFormer = prior.fingerprint !== facts.fingerprint;
  const hasResult = prior.status !== 'deferred' && prior.status !== 'failed';
  if (isFormer && !(hasResult && mode.keepsFormerResults)) {
    return false;
  }
  if (prior.status === 'deferred') {
    return !mode.retriesEarly && (prior.nextAttemptAt ?? 0) > facts.nowMs;
  }
  // A `scored` row without a stored score does not count.
  return prior.status !== 'scored' || facts.hasPriorScore;
}

/**
 * Computes the revision: one more than before when the evidence of an earlier result changed, or when a scorer runs again on
 * purpose. An attempt without a result does not count.
 */
function computeRevision(facts: CellFacts, { reuses }: PlanMode): number {
  const { prior, existing, evidenceHash } = facts;
  if (existing.length > 0) {
    const revision = maxRevision(existing);
    const isStale = existing.every((each) => each.evidenceHash !== evidenceHash);
    return isStale || !reuses ? revision + 1 : revision;
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
  if (!facts.isLimited || (prior.status === 'deferred' && facts.existing.length === 0)) {
    return false;
  }
  const lastMs = Math.max(
    ...facts.existing.map((score) => score.scoredAt),
    prior.status === 'failed' ? prior.decidedAt : 0,
  );
  return prior.revision > MAX_RESCORES && facts.nowMs - lastMs < LATE_WINDOW_MS;
}
