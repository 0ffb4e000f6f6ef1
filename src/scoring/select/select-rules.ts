import { WHOLE_RULE, type Decision } from '../../domain/decision.ts';
import type { Claim } from '../../ownership/claim.ts';
import { AHEAD_MS, ROOTLESS_WAITS } from '../../readiness/readiness.ts';
import type { Room } from '../attempt/run-stock.ts';
import { sampleTrace } from './sample-trace.ts';
import type { TraceActivity, TraceFacts } from '../../store/contracts/stores.ts';
import { formatReason } from '../attempt/attempt-failure.ts';
import { buildVerdictRows, type Unscored } from '../record/decision-rows.ts';
import type { PreparedRule, PreparedScorer } from './rule.ts';
import type { RuleInForce } from './rule-history.ts';
import type { ScoringMode } from '../scoring-mode.ts';
import type { RuleSelection, Selection } from './selection.ts';
import { findUnmetCondition } from './where.ts';

/** A session as a target of rules. */
export interface SessionTarget {
  readonly targetId: string;
  /** Text from which the number for sampling is drawn. */
  readonly samplingId: string;
}

/** A trace or a session whose content is not read yet. */
export interface TraceCandidate {
  readonly activity: TraceActivity;
  /** Set for a session, whose activity has no trace id. */
  readonly session?: SessionTarget;
  readonly claim: Claim;
  /** Current decisions of the trace. */
  readonly prior: readonly Decision[];
  readonly reread: boolean;
  readonly room?: Room | undefined;
  readonly nowMs: number;
}

/** A rule that covers a trace and has yet to decide it. */
export interface OpenRule {
  readonly rule: PreparedRule;
  /** Scorers in force that this process does. */
  readonly scorers: readonly PreparedScorer[];
  readonly prior: readonly Decision[];
  readonly inForce: RuleInForce | undefined;
}

const NOT_SELECTED: Selection = { stratum: 'none', inclusionProbability: 0, weight: null };

/** Returns true when a rule needs facts of its traces. */
export function needsFacts(rules: readonly PreparedRule[]): boolean {
  return rules.some((rule) => hasWhere(rule) || rule.sample.always.length > 0);
}

/** Sorts the rules that cover a trace: open ones have yet to decide it, settled ones have decided it. */
export function listOpenRules(
  candidate: TraceCandidate,
  mode: ScoringMode,
): { open: readonly OpenRule[]; settled: readonly PreparedRule[] } {
  const open: OpenRule[] = [];
  const settled: PreparedRule[] = [];
  for (const rule of mode.rules) {
    const inForce = mode.history?.inForce(rule, candidate.activity.firstArrivalMs);
    const scorers = rule.scorers.filter(
      ({ name }) => (inForce?.scorers.has(name) ?? true) && candidate.claim.owns(rule.name, name),
    );
    if (inForce === null || scorers.length === 0) {
      continue;
    }
    const prior = candidate.prior.filter((row) => row.rule === rule.name);
    if (isSettled(prior, scorers, candidate, mode)) {
      settled.push(rule);
    } else {
      open.push({ rule, scorers, prior, inForce });
    }
  }
  return { open, settled };
}

/** Decides whether an open rule scores a trace: first by `where`, then by the sample. */
export function selectRule(
  { rule, scorers, prior, inForce }: OpenRule,
  candidate: TraceCandidate,
  facts: TraceFacts | undefined,
  mode: ScoringMode,
): RuleSelection {
  const selected = (selection: Selection): RuleSelection => ({
    outcome: 'selected',
    selected: { rule, scorers, selection, prior },
  });
  if (!mode.selects) {
    const former = mode.takesOver ? prior.find((row) => row.status === 'scored') : undefined;
    return selected(former === undefined ? selectWithoutSampling(mode) : buildSelection(former));
  }
  const unmet = hasWhere(rule) ? findUnmetCondition(rule.where, facts) : null;
  if (unmet !== null) {
    const verdict = { status: 'filtered', reason: formatReason('where', unmet) } as const;
    return declineRule(rule, candidate, prior, verdict, NOT_SELECTED);
  }
  const plan = { rate: inForce?.rate ?? rule.sample.rate, always: inForce?.always ?? rule.sample.always };
  const sample = sampleTrace(candidate.session?.samplingId ?? candidate.activity.traceId, plan, facts);
  const { inclusionProbability, weight } = sample;
  if (!sample.included) {
    const reason = formatReason('sampled_out', `not among the ${plan.rate * 100} % that the rule scores`);
    const verdict = { status: 'sampled_out', reason } as const;
    return declineRule(rule, candidate, prior, verdict, { stratum: 'none', inclusionProbability, weight });
  }
  return selected({ stratum: mode.stratum ?? sample.stratum, inclusionProbability, weight });
}

function selectWithoutSampling(mode: ScoringMode): Selection {
  return { stratum: mode.stratum ?? 'none', inclusionProbability: 1, weight: null };
}

function buildSelection({ stratum, inclusionProbability, weight }: Decision): Selection {
  return { stratum, inclusionProbability, weight };
}

/** Computes the quiet time before a trace is read, milliseconds: it doubles with every revision. */
export function computeQuietMs(
  prior: readonly Decision[],
  limits: { decisionWaitMs: number; maxWaitMs: number },
): number {
  const revision = prior.reduce((most, row) => Math.max(most, row.revision), 0);
  return Math.min(limits.decisionWaitMs * 2 ** Math.min(revision, 20), limits.maxWaitMs);
}

/** Computes the time, by the store's clock, at which a trace that still arrives is ready; null when it is ready now. */
export function computeWaitUntil(
  candidate: TraceCandidate,
  limits: { decisionWaitMs: number; maxWaitMs: number },
): number | null {
  const { activity, prior, nowMs } = candidate;
  const decidedUntil = prior.reduce((latest, row) => Math.max(latest, row.evidenceUntil), 0);
  if (prior.length > 0 && activity.lastArrivalMs <= decidedUntil) {
    return null;
  }
  // An arrival ahead of the store's clock came before the clock went back.
  if (activity.lastArrivalMs > nowMs + AHEAD_MS) {
    return null;
  }
  const openedMs = prior.length > 0 ? decidedUntil : activity.firstArrivalMs;
  const waits = activity.rootSeen || prior.length > 0 ? 1 : ROOTLESS_WAITS;
  const quietAt =
    activity.lastArrivalMs + Math.max(computeQuietMs(prior, limits), waits * limits.decisionWaitMs);
  const at = Math.min(quietAt, Math.max(openedMs + limits.maxWaitMs, activity.lastArrivalMs));
  return at > nowMs ? at : null;
}

function hasWhere(rule: PreparedRule): boolean {
  return Object.values(rule.where ?? {}).some((condition) => condition !== undefined);
}

/** Returns true when every row of the scorers has seen the latest arrival, and no row is to be tried again now. */
function isSettled(
  prior: readonly Decision[],
  scorers: readonly PreparedScorer[],
  candidate: TraceCandidate,
  mode: ScoringMode,
): boolean {
  if (!mode.reuses || candidate.reread || prior.length === 0) {
    return false;
  }
  const isCurrent = (row: Decision) =>
    row.evidenceUntil >= candidate.activity.lastArrivalMs &&
    (row.status !== 'deferred' || (!mode.retriesEarly && (row.nextAttemptAt ?? 0) > candidate.nowMs));
  return [...Map.groupBy(prior, (row) => row.targetId).values()].every((rows) => {
    const verdict = rows.find((row) => row.scorer === WHOLE_RULE && row.status !== 'scored');
    const current = new Set(rows.filter(isCurrent).map((row) => row.scorer));
    return verdict !== undefined ? isCurrent(verdict) : scorers.every((bound) => current.has(bound.name));
  });
}

function declineRule(
  rule: PreparedRule,
  candidate: TraceCandidate,
  prior: readonly Decision[],
  verdict: Unscored,
  selection: Selection,
): RuleSelection {
  const { activity, nowMs } = candidate;
  const rows = buildVerdictRows(verdict, {
    key: activity,
    rule,
    targetId: candidate.session?.targetId ?? activity.traceId,
    prior,
    selection,
    evidenceUntilMs: activity.lastArrivalMs,
    evidenceHash: '',
    nowMs,
  });
  return { outcome: 'declined', rule, rows };
}
