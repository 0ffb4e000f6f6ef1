import type { Decision, DecisionStatus } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import type { PreparedScorer } from '../select/rule.ts';
import type { ScoringMode, Redo } from '../scoring-mode.ts';
import type { SelectedRule, TraceTask } from '../trace-task.ts';
import type { ScoringTarget } from '../select/targets.ts';
import { readReasonCode } from './attempt-failure.ts';
import type { AgentRun } from '../../domain/trace/agent-run.ts';
import { hashValue } from '../../domain/identity.ts';
import type { AgentMessage } from '../../domain/trace/messages.ts';

/** One scorer of one rule on one target, and its plan. */
export interface Pair {
  readonly task: TraceTask;
  readonly selected: SelectedRule;
  readonly target: ScoringTarget;
  readonly bound: PreparedScorer;
  /** Hash of the evidence of the target. */
  readonly hash: string;
  /** Current scores of this target, scorer and fingerprint. */
  readonly existing: readonly Score[];
  readonly prior: Decision | undefined;
  /** Current scores of the fingerprint of `prior`. */
  readonly priorScores: readonly Score[];
  readonly plan: PairPlan;
}

export interface PairResult {
  /** Row to write; null when the earlier row is still right, or when the run was broken off. */
  readonly row: Decision | null;
  /** Scores that were computed now. */
  readonly scores: readonly Score[];
  /** True when the run was broken off: nothing is decided, and the trace is scored again. */
  readonly abandoned: boolean;
  /** Set when the run got no slots: nothing is decided yet. */
  readonly waiting?: true;
}

/** Results of the pairs that are done; a pair without an entry still runs. */
export type PairResults = ReadonlyMap<Pair, PairResult>;

/** Returns true for a score of the scorer on the target, also for a further score that is not the name of another scorer. */
export function isScoreOfPair(
  { scorer: stored, target: kind, targetId }: Score,
  { target, bound, selected }: Pick<Pair, 'target' | 'bound' | 'selected'>,
): boolean {
  const isFurther = stored.startsWith(`${bound.name}/`) || stored.startsWith(`${bound.name}-`);
  const isOurs =
    stored === bound.name || (isFurther && !selected.scorers.some(({ name }) => name === stored));
  return isOurs && kind === target.kind && targetId === target.targetId;
}

/** Plans the pairs of one rule on one target, in the order of the rule's scorers. */
export function buildPairs(
  task: TraceTask,
  selected: SelectedRule,
  target: ScoringTarget,
  mode: ScoringMode,
): Pair[] {
  return selected.scorers.map((bound) => {
    const hash = bound.readsPast === true ? computeTotalsHash(target.run) : computeEvidenceHash(target.run);
    const scores = task.existing.filter((score) => isScoreOfPair(score, { target, bound, selected }));
    const existing = scores.filter(({ fingerprint }) => fingerprint === bound.fingerprint);
    const prior = selected.prior.find((row) => row.targetId === target.targetId && row.scorer === bound.name);
    const priorScores = scores.filter(({ fingerprint }) => fingerprint === prior?.fingerprint);
    const pair = { task, selected, target, bound, hash, existing, prior, priorScores };
    return { ...pair, plan: planRedo(pair, mode) ?? planAttempt(pair, mode) };
  });
}

/** Number of re-scores of one run by one scorer after which there is at most one per `LATE_WINDOW_MS`. */
const MAX_RESCORES = 3;
const LATE_WINDOW_MS = 24 * 3_600_000;

type UnplannedPair = Omit<Pair, 'plan'>;

type PairPlan =
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

/** Plans a decision that a repair makes again: the scorer runs once, also beside a stored result. Null for any other decision. */
function planRedo(pair: UnplannedPair, mode: PlanMode): PairPlan | null {
  const { prior, existing, hash } = pair;
  const { redo } = mode;
  if (redo === null || !redo.selects(prior)) {
    return null;
  }
  const attempts = countAttempts(pair);
  if (existing.length === 0) {
    return { action: 'run', revision: computeRevision(pair, mode), attempts };
  }
  const revision = maxRevision(existing);
  return existing.some((score) => isResultOf(redo, score, hash))
    ? { ...planDecision(pair, revision), status: 'scored', reason: '' }
    : { action: 'run', revision: revision + 1, attempts };
}

/** Decides, without a judge call, whether a scorer has to run. */
function planAttempt(pair: UnplannedPair, mode: PlanMode): PairPlan {
  const { prior, existing, hash, bound, task } = pair;
  const revision = computeRevision(pair, mode);
  const isSameEvidence = prior !== undefined && prior.evidenceUntil >= task.activity.lastArrivalMs;
  const run: PairPlan = { action: 'run', revision, attempts: countAttempts(pair) };
  if (!mode.reuses) {
    return run;
  }
  if (isSameEvidence && !task.reread && isStanding(prior, pair, mode)) {
    return { action: 'keep' };
  }
  const decision = planDecision(pair, revision);
  if (existing.some((score) => score.evidenceHash === hash)) {
    return { ...decision, status: 'scored', reason: isReuseNote(prior) ? prior.reason : '' };
  }
  if (prior === undefined) {
    return run;
  }
  if (prior.evidenceHash === hash) {
    const { fingerprint, status, reason, nextAttemptAt } = prior;
    return isStanding(prior, pair, mode) ? { ...decision, fingerprint, status, reason, nextAttemptAt } : run;
  }
  if (prior.fingerprint !== bound.fingerprint) {
    return run;
  }
  return isLimitReached(pair, prior)
    ? {
        ...decision,
        status: existing.length > 0 ? 'scored' : 'failed',
        reason: `late_limit: spans came after ${MAX_RESCORES} re-scores within a day; the last result stands`,
        revision: prior.revision,
        evidenceHash: prior.evidenceHash,
      }
    : run;
}

function planDecision(pair: UnplannedPair, revision: number) {
  return {
    action: 'decide',
    fingerprint: pair.bound.fingerprint,
    revision,
    attempts: countAttempts(pair) + 1,
    nextAttemptAt: null,
    evidenceHash: pair.hash,
  } as const;
}

/** Counts the attempts at the present evidence. */
function countAttempts({ prior, task }: UnplannedPair): number {
  return prior !== undefined && prior.evidenceUntil >= task.activity.lastArrivalMs ? prior.attempts : 0;
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
function isStanding(prior: Decision, pair: UnplannedPair, mode: PlanMode): boolean {
  const isFormer = prior.fingerprint !== pair.bound.fingerprint;
  const hasResult = prior.status !== 'deferred' && prior.status !== 'failed';
  if (isFormer && !(hasResult && mode.keepsFormerResults)) {
    return false;
  }
  if (prior.status === 'deferred') {
    return !mode.retriesEarly && (prior.nextAttemptAt ?? 0) > pair.task.clock.nowMs();
  }
  // A `scored` row without a stored score does not count.
  return prior.status !== 'scored' || pair.priorScores.length > 0;
}

/**
 * Computes the revision: one more than before when the evidence of an earlier result changed, or when a scorer runs again on
 * purpose. An attempt without a result does not count.
 */
function computeRevision({ prior, existing, hash }: UnplannedPair, { reuses }: PlanMode): number {
  if (existing.length > 0) {
    const revision = maxRevision(existing);
    const isStale = existing.every((each) => each.evidenceHash !== hash);
    return isStale || !reuses ? revision + 1 : revision;
  }
  if (prior === undefined) {
    return 1;
  }
  const hadOutcome = prior.status !== 'deferred' && prior.evidenceHash !== '';
  return hadOutcome && prior.evidenceHash !== hash ? prior.revision + 1 : Math.max(prior.revision, 1);
}

/**
 * Returns true when a re-score has to wait. Only the time of the last result is stored. So after the third re-score there is at
 * most one in 24 hours, which is never more than three.
 */
function isLimitReached({ task, target, existing }: UnplannedPair, prior: Decision): boolean {
  // The wait for a session limits its re-scores.
  if (target.kind === 'session' || (prior.status === 'deferred' && existing.length === 0)) {
    return false;
  }
  const lastMs = Math.max(
    ...existing.map((score) => score.scoredAt),
    prior.status === 'failed' ? prior.decidedAt : 0,
  );
  return prior.revision > MAX_RESCORES && task.clock.nowMs() - lastMs < LATE_WINDOW_MS;
}

/**
 * Computes the hash of the content that scorers see of a run: messages, context, documents, tools, outcome. Message ids and times are
 * left out: a root span that arrives late changes them, but not the content.
 */
export function computeEvidenceHash(run: AgentRun): string {
  let hash = hashes.get(run);
  if (hash === undefined) {
    hash = hashEvidence(run);
    hashes.set(run, hash);
  }
  return hash;
}

/** Computes the hash of the evidence with what the run took: later spans may change its times and its tokens alone. */
export function computeTotalsHash(run: AgentRun): string {
  return hashValue([computeEvidenceHash(run), run.usage, run.startedAt, run.endedAt]);
}

/** Hashes by run: a run of fifty thousand tool calls takes seconds to hash, and every rule needs the hash. */
const hashes = new WeakMap<AgentRun, string>();

function hashEvidence(run: AgentRun): string {
  return hashValue({
    input: {
      inputMessages: run.input.inputMessages.map(readEvidence),
      rememberedMessages: run.input.rememberedMessages.map(readEvidence),
      systemMessages: run.input.systemMessages,
      taggedSystemMessages: run.input.taggedSystemMessages,
    },
    output: run.output.map(readEvidence),
    context: run.context,
    documents: run.documents,
    ...(run.tools === undefined ? {} : { tools: run.tools }),
    status: run.status,
    error: run.error,
    notScorable: run.notScorable?.code ?? null,
  });
}

function readEvidence(message: AgentMessage) {
  return { role: message.role, type: message.type, content: message.content };
}

/** One rule on one trace: its verdicts that need no scorer, and its pairs. */
export interface RulePass {
  readonly verdicts: readonly Decision[];
  readonly pairs: readonly Pair[];
}
