import { WHOLE_RULE, type Decision } from '../../domain/decision.ts';
import { AHEAD_MS, ROOTLESS_WAITS } from '../../readiness/readiness.ts';
import {
  needsContentFor as samplesByContent,
  needsFactsFor,
  needsFeedbackFor,
  sampleTrace,
  looksAtCost,
  type PriorityFacts,
  type RunSize,
  type SampleVerdict,
} from './sample-trace.ts';
import type { TraceActivity, TraceFacts } from '../../store/contracts/stores.ts';
import { formatReason } from '../attempt/attempt-failure.ts';
import type { PreparedRule, PreparedScorer, RuleInForce } from './rule.ts';
import type { ScoringMode } from '../scoring-mode.ts';
import {
  describeSample,
  isTraceData,
  type KnownFacts,
  type PendingChoice,
  type RuleSelection,
  type Selection,
  type SelectedRule,
  type TraceCandidate,
  type TraceTask,
  type VersionStates,
} from '../trace-task.ts';
import {
  computeDurationMs,
  findUnmetCondition,
  needsContentFor,
  needsFactsFor as needsFactsForWhere,
  findUnmetContent,
  computeRunCost,
  countTokens,
  isReadByShape,
} from './where.ts';
import { buildVerdictRows, type Unscored } from '../record/decision-rows.ts';
import type { TraceReading } from '../../domain/trace/agent-run.ts';
import type { PriceTable } from '../../domain/money/model-prices.ts';
import type { TraceData } from '../../domain/trace/span.ts';

/** A rule that covers a trace and has yet to decide it. */
export interface OpenRule {
  readonly rule: PreparedRule;
  /** Scorers in force that this process does. */
  readonly scorers: readonly PreparedScorer[];
  readonly prior: readonly Decision[];
  readonly inForce: RuleInForce | undefined;
}

/** Returns true when a rule needs facts of the trace. */
export function needsFacts(rules: readonly OpenRule[]): boolean {
  return rules.some(
    ({ rule, inForce }) => needsFactsForWhere(rule.where) || needsFactsFor(inForce ?? rule.sample),
  );
}

/** Returns true when a rule looks at the feedback on the trace. */
export function needsFeedback(rules: readonly OpenRule[]): boolean {
  return rules.some(({ rule, inForce }) => needsFeedbackFor(inForce ?? rule.sample));
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

/**
 * Decides whether an open rule scores a trace: first by `where`, then by the sample. What needs the content stays pending, unless
 * the rule declines the trace without it.
 */
export function selectRule(
  { rule, scorers, prior, inForce }: OpenRule,
  candidate: TraceCandidate,
  { facts, versions }: KnownFacts,
  mode: ScoringMode,
): RuleSelection {
  const { activity } = candidate;
  const selected = (selection: Selection, pending: PendingChoice | null = null): RuleSelection => ({
    outcome: 'selected',
    selected: { rule, scorers, selection, pending, prior },
  });
  if (!mode.selects) {
    const former = findFormer(prior, mode);
    return selected(former === undefined ? selectWithoutSampling(mode) : buildSelection(former));
  }
  const { targetId = activity.traceId, samplingId = activity.traceId } = candidate.session ?? {};
  const trace = { activity, targetId, nowMs: candidate.nowMs };
  const unmet = findUnmetCondition(rule.where, { activity, facts });
  if (unmet !== null) {
    const verdict = { status: 'filtered', reason: formatReason('where', unmet) } as const;
    return declineRule(trace, { rule, prior, verdict, selection: NOT_SELECTED });
  }
  const { rate, always } = inForce ?? rule.sample;
  const plan = { rate, always };
  const { isFirstOfVersion, versionRequest } = readPlace(versions, rule);
  const priority = listPriorityFacts(activity, facts, isFirstOfVersion);
  const sample = sampleTrace(samplingId, plan, priority);
  const { included, stratum, inclusionProbability, weight } = sample;
  const isOpen = versionRequest !== null || samplesByContent(plan, sample);
  if (!included && !isOpen) {
    const reason = formatReason('sampled_out', describeSample(plan));
    const verdict = { status: 'sampled_out', reason } as const;
    return declineRule(trace, {
      rule,
      prior,
      verdict,
      selection: { stratum, inclusionProbability, weight },
    });
  }
  const isPending = isOpen || needsContentFor(rule.where, facts);
  const pending = isPending ? { targetId, samplingId, plan, priority, facts, versionRequest } : null;
  return selected({ stratum: mode.stratum ?? stratum, inclusionProbability, weight }, pending);
}

/** Reads the place of a trace among the first ones of its versions, or the request for one that is open. */
function readPlace(versions: VersionStates | undefined, { name }: PreparedRule) {
  const { request = null, state = 'late' } = versions?.get(name) ?? {};
  return { isFirstOfVersion: state === 'first', versionRequest: state === 'open' ? request : null };
}

/** Finds the decision whose selection a new score takes over. */
function findFormer(prior: readonly Decision[], { takesOver, redo }: ScoringMode): Decision | undefined {
  return takesOver
    ? (prior.find((row) => row.status === 'scored') ?? prior.find((row) => redo?.selects(row)))
    : undefined;
}

function listPriorityFacts(
  activity: TraceActivity,
  facts: TraceFacts | undefined,
  isFirstOfVersion: boolean,
): PriorityFacts {
  return {
    hasError: facts?.hasError ?? false,
    hasToolError: facts?.hasToolError ?? false,
    hasNegativeFeedback: facts?.hasNegativeFeedback ?? false,
    durationMs: computeDurationMs(activity),
    isFirstOfVersion,
  };
}

function selectWithoutSampling(mode: ScoringMode): Selection {
  return { stratum: mode.stratum ?? 'none', inclusionProbability: 1, weight: null };
}

function buildSelection({ stratum, inclusionProbability, weight }: Decision): Selection {
  return { stratum, inclusionProbability, weight };
}

/** Computes the quiet time before a trace is read, milliseconds: it doubles with every revision. */
function computeQuietMs(
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

/** Returns true when every row of the scorers has seen the latest arrival, and no row is to be tried again now. */
function isSettled(
  prior: readonly Decision[],
  scorers: readonly PreparedScorer[],
  candidate: TraceCandidate,
  mode: ScoringMode,
): boolean {
  if (!mode.reuses || mode.redo !== null || candidate.reread || prior.length === 0) {
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

/** Sampling of a trace that a rule does not look at. */
const NOT_SELECTED: Selection = { stratum: 'none', inclusionProbability: 0, weight: null };

/**
 * Builds the rows of a rule that does not score a trace or a session.
 * @param trace readByShape: a run of the trace was read by the form of its values; absent before the content is read
 */
function declineRule(
  { activity, ...trace }: { activity: TraceActivity; targetId: string; nowMs: number; readByShape?: boolean },
  {
    rule,
    prior,
    verdict,
    selection,
  }: Pick<SelectedRule, 'rule' | 'prior' | 'selection'> & { verdict: Unscored },
): RuleSelection {
  const rows = buildVerdictRows(verdict, {
    key: activity,
    ...trace,
    rule,
    prior,
    selection,
    evidenceUntilMs: activity.lastArrivalMs,
  });
  return { outcome: 'declined', rule, rows };
}

/** OpenTelemetry's member of the W3C tracestate, and its sub-key `th`: the threshold below which a sampler dropped traces. */
const THRESHOLD = /(?:^|,)[ \t]*ot=(?:[^,]*;)?th:([0-9a-f]{1,14})(?=[;, \t]|$)/;

/** Range of thresholds: 56 bits. */
const RANGE = 2n ** 56n;

/**
 * Decides the conditions and the reasons for sampling that need the content. Completes the weights of the scores by the sampling
 * before spanscore. Returns the task with the rules that score the trace, and those that do not, and whether a rule wants costly traces and
 * could not know the cost.
 */
export function chooseByContent(
  task: TraceTask,
  reading: TraceReading,
  { mode, prices }: { readonly mode: ScoringMode; readonly prices: PriceTable },
): { readonly task: TraceTask; readonly isUnpriced: boolean } {
  if (!mode.selects || task.rules.length === 0) {
    return { task, isUnpriced: false };
  }
  const sizes = reading.runs.map((run) => ({
    tokens: countTokens(run),
    costUsd: computeRunCost(run, prices),
  }));
  const choices = task.rules.map((selected) => chooseRule(task, selected, { reading, sizes, mode }));
  const upstream = isTraceData(task.read) ? readUpstreamProbability(task.read) : 1;
  const rules = choices.flatMap(({ result }) => (result.outcome === 'selected' ? [result.selected] : []));
  return {
    task: {
      ...task,
      rules: rules.map((each) => weighBy(upstream, each)),
      declined: [
        ...task.declined,
        ...choices.flatMap(({ result }) => (result.outcome === 'declined' ? [result] : [])),
      ],
    },
    isUnpriced: choices.some((choice) => choice.isUnpriced),
  };
}

interface ReadTerms {
  readonly reading: TraceReading;
  readonly sizes: readonly RunSize[];
  readonly mode: ScoringMode;
}

function chooseRule(
  task: TraceTask,
  selected: SelectedRule,
  { reading, sizes, mode }: ReadTerms,
): { result: RuleSelection; isUnpriced: boolean } {
  const { rule, pending, prior } = selected;
  if (pending === null) {
    return { result: { outcome: 'selected', selected }, isUnpriced: false };
  }
  const { targetId, samplingId, plan, priority, facts } = pending;
  const trace = {
    activity: task.activity,
    targetId,
    nowMs: task.clock.nowMs(),
    readByShape: reading.runs.some(isReadByShape),
  };
  const unmet = findUnmetContent(rule.where, reading.runs, facts);
  if (unmet !== null) {
    const verdict = { status: 'filtered', reason: formatReason('where', unmet) } as const;
    return {
      result: declineRule(trace, { rule, prior, verdict, selection: NOT_SELECTED }),
      isUnpriced: false,
    };
  }
  const sample = sampleTrace(samplingId, plan, { ...priority, runs: sizes });
  const isUnpriced = lacksPrice(pending, sample, sizes);
  const { included, stratum, inclusionProbability, weight } = sample;
  if (!included) {
    const reason = formatReason('sampled_out', describeSample(plan, sizes));
    const selection = { stratum, inclusionProbability, weight };
    const verdict = { status: 'sampled_out', reason } as const;
    return { result: declineRule(trace, { rule, prior, verdict, selection }), isUnpriced };
  }
  const selection = { stratum: mode.stratum ?? stratum, inclusionProbability, weight };
  return {
    result: { outcome: 'selected', selected: { ...selected, selection, pending: null } },
    isUnpriced,
  };
}

/** Returns true when a run whose tokens are counted has no price, and a reason would have looked at its cost. */
function lacksPrice(
  { plan }: PendingChoice,
  { inclusionProbability }: SampleVerdict,
  sizes: readonly RunSize[],
): boolean {
  return (
    inclusionProbability < 1 &&
    plan.always.some(looksAtCost) &&
    sizes.some(({ tokens, costUsd }) => costUsd === null && tokens !== null)
  );
}

function weighBy(upstream: number, selected: SelectedRule): SelectedRule {
  const { selection } = selected;
  return selection.weight === null
    ? selected
    : { ...selected, selection: { ...selection, weight: selection.weight / upstream } };
}

/**
 * Reads the probability with which samplers before spanscore let a trace pass: from its root span, else from the first span that
 * tells it. Returns 1 when none does. A threshold that cannot be read is ignored.
 */
export function readUpstreamProbability({ spans }: Pick<TraceData, 'spans'>): number {
  const roots = spans.filter(({ parentSpanId }) => parentSpanId === '');
  for (const { traceState } of [...roots, ...spans]) {
    const threshold = THRESHOLD.exec(traceState)?.[1];
    if (threshold !== undefined) {
      return Number(RANGE - BigInt(`0x${threshold.padEnd(14, '0')}`)) / Number(RANGE);
    }
  }
  return 1;
}
