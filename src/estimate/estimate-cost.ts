import type { PriceTable } from '../domain/money/model-prices.ts';
import type { CallSize } from '../store/contracts/judge-use.ts';
import { estimateSeconds, type Pace } from './estimate-time.ts';
import { priceCalls, scaleCalls, sumCalls, type ExpectedCalls, type Pricing } from './expected-calls.ts';
import {
  findLatencies,
  findPaidParts,
  learnScorers,
  type LearnedScorer,
  type Spread,
} from './learned-calls.ts';
import { mean, sampleVariance } from './linear-fit.ts';
import type { SampledCell } from './planned-work.ts';
import { canRender, type RenderedRun } from './render-calls.ts';
import { STEP_NAMES } from '../scorers/evals/scorer.ts';
import type { PlannedCall } from '../judge/judge-scope.ts';
import type { PreparedScorer } from '../scoring/select/rule.ts';

/** Factor by which the real cost may lie above, and below, a cost from declared lengths. */
export const DECLARED_FACTOR = 4;

/** Standard errors on each side of an estimate: about 95 of 100 real costs lie within. */
const STANDARD_ERRORS = 2;

/**
 * Source of the lengths of replies and of later questions: stored calls of the same scorer and judge, declared lengths, or nothing. `mixed`
 * for several scorers with different ones.
 */
export type EstimateBasis = 'stored_calls' | 'declared_lengths' | 'mixed' | 'none';

/** Expected judge calls and their cost, USD. The cost is null when a judge has no price. */
export interface CallCost {
  readonly judgeCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number | null;
  readonly costLow: number | null;
  readonly costHigh: number | null;
  readonly basis: EstimateBasis;
}

/** Estimate of one scorer of one rule. */
interface ScorerEstimate extends CallCost {
  readonly rule: string;
  readonly scorer: string;
  /** `provider/model` of its calls. */
  readonly judges: readonly string[];
  /** Traces and sessions on which it would run. */
  readonly targets: number;
  /** Targets of which the first question was rendered. */
  readonly rendered: number;
}

/** Estimate of judge calls, their cost and the time. */
export interface CostEstimate extends CallCost {
  readonly seconds: number;
  /** Prompts that were rendered. */
  readonly prompts: number;
  /** Scorers that may ask a judge. */
  readonly scorers: readonly ScorerEstimate[];
  /** Expected (target, scorer) pairs that give no score, by the code of the reason. */
  readonly unscored: Readonly<Record<string, number>>;
  /** Judges without a price. */
  readonly unpriced: readonly string[];
  /** Own scorers that may ask a judge, of which no call is stored: they are not in the estimate. */
  readonly unknown: readonly string[];
}

/** Work, and what is known of its calls. */
export interface EstimatedWork {
  readonly cells: readonly SampledCell<unknown>[];
  /** Rendered runs by the name of the target in the samples. */
  readonly runs: ReadonlyMap<string, readonly RenderedRun[]>;
  /** Sizes of stored calls of the scorers. */
  readonly sizes: readonly CallSize[];
  /** Runs of these calls that were rendered again, by the id of the score. */
  readonly stored: ReadonlyMap<string, RenderedRun>;
  readonly prices: PriceTable;
  readonly pace: Pace;
  /** Traces and sessions to read. */
  readonly targets: number;
}

/** Estimates the cost and the time of work from its sample. */
export function estimateCost(work: EstimatedWork): CostEstimate {
  const { cells, runs, sizes, stored, prices, pace, targets } = work;
  const pricing: Pricing = { prices, paidParts: findPaidParts(sizes, prices) };
  const learned = learnScorers(sizes, stored);
  const parts = cells
    .filter(({ scorer }) => scorer.isJudged)
    .map((cell) => estimateCell(cell, runs, { pricing, learned }));
  const calls = sumCalls(parts.flatMap((part) => part.calls));
  const scorers = parts.map(({ estimate }) => estimate);
  return {
    judgeCalls: sumOf(scorers, 'judgeCalls'),
    inputTokens: sumOf(scorers, 'inputTokens'),
    outputTokens: sumOf(scorers, 'outputTokens'),
    costUsd: sumCosts(scorers.map(({ costUsd }) => costUsd)),
    costLow: sumCosts(scorers.map(({ costLow }) => costLow)),
    costHigh: sumCosts(scorers.map(({ costHigh }) => costHigh)),
    seconds: estimateSeconds({ targets, calls, latencies: findLatencies(sizes) }, pace),
    basis: joinBases(scorers.map(({ basis }) => basis)),
    prompts: sumOf(parts, 'prompts'),
    scorers,
    unscored: countUnscored(cells, runs),
    unpriced: calls.filter((each) => priceCalls([each], pricing) === null).map(({ model }) => model),
    unknown: parts.filter((part) => part.isUnknown).map(({ estimate }) => estimate.scorer),
  };
}

interface CellEstimate {
  readonly estimate: ScorerEstimate;
  readonly calls: readonly ExpectedCalls[];
  readonly prompts: number;
  readonly isUnknown: boolean;
}

interface Knowledge {
  readonly pricing: Pricing;
  readonly learned: ReadonlyMap<string, LearnedScorer>;
}

/** Expected calls on one target of the sample. */
interface TargetCalls {
  readonly calls: readonly ExpectedCalls[];
  readonly basis: EstimateBasis;
}

function estimateCell(
  cell: SampledCell<unknown>,
  allRuns: EstimatedWork['runs'],
  { pricing, learned }: Knowledge,
): CellEstimate {
  const { rule, title, scorer, count, sample } = cell;
  const known = learned.get(scorer.name);
  const runs = [...sample.keys()].map((name) =>
    (allRuns.get(name) ?? []).filter((run) => run.rule === rule && run.scorer === scorer.name),
  );
  const expected = canRender(scorer)
    ? runs.map((ofTarget) => expectCalls(ofTarget, cell, known))
    : [expectMean(known)];
  const asked = expected.filter(({ basis }) => basis !== 'none');
  const basis = joinBases(asked.map((each) => each.basis));
  const factor = count / expected.length;
  const calls = sumCalls(
    scaleCalls(
      expected.flatMap((each) => each.calls),
      factor,
    ),
  );
  const rendered = runs.flat();
  return {
    calls,
    prompts: rendered.reduce((sum, run) => sum + run.calls.length, 0),
    isUnknown: !canRender(scorer) && asked.length === 0,
    estimate: {
      rule: title,
      scorer: scorer.name,
      judges: calls.map(({ model }) => model),
      targets: count,
      rendered: canRender(scorer) ? asked.length : 0,
      judgeCalls: Math.round(sumOf(calls, 'calls')),
      inputTokens: Math.round(sumOf(calls, 'inputTokens')),
      outputTokens: Math.round(sumOf(calls, 'outputTokens')),
      ...estimateInterval(
        expected.map((each) => priceCalls(each.calls, pricing)),
        { count, asked: asked.length * factor, isDeclared: basis !== 'stored_calls' },
        known?.measureSpread(pricing, mean(rendered.map(({ runBytes }) => runBytes))),
      ),
      basis,
    },
  };
}

function expectCalls(
  runs: readonly RenderedRun[],
  { scorer }: SampledCell<unknown>,
  known: LearnedScorer | undefined,
): TargetCalls {
  const each = runs.flatMap((run): TargetCalls[] => {
    const [first] = run.calls;
    const learned = known?.predict(run) ?? null;
    return first === undefined
      ? []
      : [
          learned === null
            ? { calls: declareCalls(first, scorer), basis: 'declared_lengths' }
            : { calls: learned, basis: 'stored_calls' },
        ];
  });
  return { calls: each.flatMap(({ calls }) => calls), basis: joinBases(each.map(({ basis }) => basis)) };
}

/** Expects of a scorer whose prompts cannot be rendered what it did before. */
function expectMean(known: LearnedScorer | undefined): TargetCalls {
  const calls = known?.predictMean() ?? null;
  return calls === null ? { calls: [], basis: 'none' } : { calls, basis: 'stored_calls' };
}

function joinBases(bases: readonly EstimateBasis[]): EstimateBasis {
  const distinct = new Set(bases.filter((basis) => basis !== 'none'));
  return distinct.size > 1 ? 'mixed' : ([...distinct][0] ?? 'none');
}

interface IntervalTerms {
  /** Targets of the cell. */
  readonly count: number;
  /** Targets on which it is expected to ask. */
  readonly asked: number;
  readonly isDeclared: boolean;
}

/**
 * Estimates a total from the costs of a simple random sample without replacement, with its standard error: that of the sample, plus the
 * spread of the real costs around their predictions (Cochran, Sampling Techniques, 3rd edition, section 2.6).
 */
function estimateInterval(
  costs: readonly (number | null)[],
  { count, asked, isDeclared }: IntervalTerms,
  spread: Spread = { ofRun: 0, ofPrediction: 0 },
): Pick<CallCost, 'costUsd' | 'costLow' | 'costHigh'> {
  const known = costs.flatMap((cost) => cost ?? []);
  if (known.length < costs.length) {
    return { costUsd: null, costLow: null, costHigh: null };
  }
  const costUsd = count * mean(known);
  const ofSample = (count ** 2 * sampleVariance(known) * (1 - known.length / count)) / known.length;
  const ofReplies = asked * spread.ofRun + asked ** 2 * spread.ofPrediction;
  const margin = STANDARD_ERRORS * Math.sqrt(Math.max(0, ofSample) + ofReplies);
  const factor = isDeclared ? DECLARED_FACTOR : 1;
  return {
    costUsd,
    costLow: Math.max(0, costUsd - margin) / factor,
    costHigh: (costUsd + margin) * factor,
  };
}

/** Scales the pairs of the samples that give no score to all targets, by the code of the reason. */
function countUnscored(
  cells: readonly SampledCell<unknown>[],
  runs: EstimatedWork['runs'],
): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { rule, scorer, count, sample } of cells) {
    for (const name of sample.keys()) {
      const reason = (runs.get(name) ?? []).find(
        (run) => run.rule === rule && run.scorer === scorer.name && run.reason !== '',
      )?.reason;
      if (reason !== undefined) {
        counts.set(reason, (counts.get(reason) ?? 0) + count / sample.size);
      }
    }
  }
  return Object.fromEntries([...counts].map(([reason, count]) => [reason, Math.round(count)]));
}

function sumOf<Member extends string>(
  parts: readonly Readonly<Record<Member, number>>[],
  member: Member,
): number {
  return parts.reduce((sum, part) => sum + part[member], 0);
}

/** Sums costs; null when one of them is unknown. */
function sumCosts(costs: readonly (number | null)[]): number | null {
  return costs.reduce<number | null>((sum, cost) => (sum === null || cost === null ? null : sum + cost), 0);
}

/**
 * Declares the calls of a run that begins with this call, without knowledge of real ones: each later prompt step asks once, with the first
 * prompt and one reply. A reply has the length that budgets reserve for one.
 */
function declareCalls(first: PlannedCall, { scorer }: PreparedScorer): ExpectedCalls[] {
  const { inputTokens, outputTokens } = first.tokens;
  const later = countLaterQuestions(first.step, scorer);
  return [
    { model: first.model, calls: 1, inputTokens, outputTokens },
    {
      model: first.model,
      calls: later,
      inputTokens: later * (inputTokens + outputTokens),
      outputTokens: later * outputTokens,
    },
  ];
}

/** Counts the prompt steps after a step. A scorer that was made in another way has none that are known. */
function countLaterQuestions(step: string, scorer: object): number {
  const { getSteps } = scorer as { getSteps?: () => readonly { name: string; type: string }[] };
  const names: readonly string[] = STEP_NAMES;
  const steps = getSteps?.call(scorer) ?? [];
  return steps.filter(({ name, type }) => type === 'prompt' && names.indexOf(name) > names.indexOf(step))
    .length;
}
