import type { TraceReading } from '../../domain/trace/agent-run.ts';
import type { PriceTable } from '../../domain/money/model-prices.ts';
import { formatReason } from '../attempt/attempt-failure.ts';
import type { ScoringMode } from '../scoring-mode.ts';
import { isTraceData, type TraceTask } from '../trace-task.ts';
import { declineRule, NOT_SELECTED } from './decline-rule.ts';
import { computeRunCost, countTokens, isReadByShape } from './run-totals.ts';
import { looksAtCost, sampleTrace, type RunSize, type SampleVerdict } from './sample-trace.ts';
import { describeSample, type PendingChoice, type RuleSelection, type SelectedRule } from './selection.ts';
import { findUnmetContent } from './where.ts';
import type { TraceData } from '../../domain/trace/span.ts';

/** OpenTelemetry's member of the W3C tracestate, and its sub-key `th`: the threshold below which a sampler dropped traces. */
const THRESHOLD = /(?:^|,)[ \t]*ot=(?:[^,]*;)?th:([0-9a-f]{1,14})(?=[;, \t]|$)/;

/** Range of thresholds: 56 bits. */
const RANGE = 2n ** 56n;

/** Choice of the rules of a trace after its content was read. */
export interface ContentChoice {
  /** The task with the rules that score the trace, and those that do not. */
  readonly task: TraceTask;
  /** True when a rule wants costly traces and could not know the cost. */
  readonly isUnpriced: boolean;
}

/**
 * Decides the conditions and the reasons for sampling that need the content. Completes the weights of the scores by the sampling
 * before spanscore.
 */
export function chooseByContent(
  task: TraceTask,
  reading: TraceReading,
  { mode, prices }: { readonly mode: ScoringMode; readonly prices: PriceTable },
): ContentChoice {
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
