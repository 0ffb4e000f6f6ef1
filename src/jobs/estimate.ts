import { SECOND_MS } from '../domain/durations.ts';
import { findPrice, type PriceTable, findCost } from '../domain/money/model-prices.ts';
import { STEP_NAMES } from '../scorers/evals/scorer.ts';
import type { PlannedCall } from '../judge/judge-scope.ts';
import { REPEAT_MARK } from '../judge/retry.ts';
import type { Scoring } from '../scoring/scoring.ts';
import type { ScoringMode } from '../scoring/scoring-mode.ts';
import type { PreparedScorer } from '../scoring/select/rule.ts';
import type { SessionSettings } from '../scoring/sessions/score-session.ts';
import type { CallSize } from '../store/contracts/stores.ts';
import type { JudgeUseStore } from '../store/tables/judge-calls.ts';
import { canRender, renderStored, renderWork, type RenderedRun } from './render-questions.ts';
import { nameTarget, sampleKeys, type TargetKey } from './targets.ts';

/** Most stored calls of one scorer and judge from which lengths and costs are learned. */
const MOST_SIZES = 2_000;

/** Most targets whose prompts are rendered for one scorer of one rule. */
export const MOST_RENDERED = 50;

/** Factor by which the real cost may lie above, and below, a cost from declared lengths. */
export const DECLARED_FACTOR = 4;

/** Standard errors on each side of an estimate: about 95 of 100 real costs lie within. */
const STANDARD_ERRORS = 2;

/** Fewest stored runs of a scorer from which its calls are learned. */
const FEWEST_RUNS = 5;

/** Fewest stored runs from which a slope is computed. */
const FEWEST_FOR_SLOPE = 8;

/** Greatest prediction, in multiples of the greatest stored value: a line is not trusted far beyond its observations. */
const MOST_BEYOND = 4;

/** Traces of eight spans that one process reads and scores by code in a second, when nothing limits it (`npm run bench:backfill`). */
const TRACES_PER_SECOND = 1_000;

/** Time of a call to a judge of which no call is known, milliseconds. */
const UNKNOWN_LATENCY_MS = 4_000;

const MINUTE_S = 60;

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

interface ScorerEstimate extends CallCost {
  readonly rule: string;
  readonly scorer: string;
  /** `provider/model` of its calls. */
  readonly judges: readonly string[];
  /** Cost of the calls to each of them, USD; null without a price. */
  readonly costsUsd: readonly (number | null)[];
  /** Traces and sessions on which it would run. */
  readonly targets: number;
  /** Targets of which the first question was rendered. */
  readonly rendered: number;
}

/** Estimate of judge calls, their cost and the time. */
export interface CostEstimate extends CallCost {
  readonly seconds: number;
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

/** Scorer of a rule: its name in this look, and the name for people. */
export interface PlannedPair {
  readonly rule: string;
  readonly title: string;
  readonly scorer: PreparedScorer;
}

/** Pair with the number of targets on which it would run, and a sample of them by name. */
export interface SampledPair extends PlannedPair {
  readonly count: number;
  readonly sample: ReadonlyMap<string, TargetKey>;
}

/**
 * Counts the work of each pair and keeps a sample of it: the targets with the least hashes. So the samples of all pairs share their
 * targets as far as possible, and the same range gives the same sample.
 */
export class PlannedWork {
  readonly #pairs = new Map<string, PlannedPair & { count: number; keys: TargetKey[] }>();
  #targets = 0;

  /** Number of traces and sessions with work. */
  get targets(): number {
    return this.#targets;
  }

  add(key: TargetKey, pairs: readonly PlannedPair[]): void {
    this.#targets += pairs.length === 0 ? 0 : 1;
    for (const planned of pairs) {
      const id = JSON.stringify([planned.rule, planned.scorer.name]);
      const pair = this.#pairs.get(id) ?? { ...planned, count: 0, keys: [] };
      this.#pairs.set(id, pair);
      pair.count += 1;
      pair.keys.push(key);
      if (pair.keys.length >= 2 * MOST_RENDERED) {
        pair.keys = sampleKeys(pair.keys, MOST_RENDERED);
      }
    }
  }

  list(): SampledPair[] {
    return [...this.#pairs.values()].map(({ keys, ...pair }) => ({
      ...pair,
      sample: new Map(sampleKeys(keys, MOST_RENDERED).map((key) => [nameTarget(key), key])),
    }));
  }
}

export interface ProviderPace {
  /** Calls at the same time. */
  readonly concurrency: number;
  readonly requestsPerMinute?: number | undefined;
  readonly tokensPerMinute?: number | undefined;
}

export interface Pace {
  readonly findProvider: (provider: string) => ProviderPace;
  /** Judged runs at the same time. */
  readonly places: number;
  /** Part of these limits that the work may use. */
  readonly share: number;
  /** Traces a second; null: no limit. */
  readonly tracesPerSecond: number | null;
  /** Traces at the same time; null: no limit. */
  readonly traces: number | null;
}

/** Work, and what is known of its calls. */
export interface EstimatedWork {
  readonly targets: number;
  readonly pairs: readonly SampledPair[];
  readonly runs: ReadonlyMap<string, readonly RenderedRun[]>;
  readonly sizes: readonly CallSize[];
  /** Runs of these calls that were rendered again, by the id of the score. */
  readonly stored: ReadonlyMap<string, Pick<RenderedRun, 'runBytes'>>;
  readonly prices: PriceTable;
  readonly pace: Pace;
}

/** Needs of a look at work that is not done. */
export interface LookParts {
  readonly scoring: Scoring;
  readonly sessions: SessionSettings;
  readonly readSizes: JudgeUseStore['sizes'];
  /** Prices over the built-in ones. */
  readonly prices: PriceTable;
  readonly findProvider: Pace['findProvider'];
}

/**
 * Estimates planned work: renders the first questions of its sample, and reads what the scorers asked before. Asks no judge and stores
 * nothing. Throws what the store throws.
 * @param terms.tenant '' for all tenants
 */
export async function estimateWork(
  { scoring, sessions, readSizes, prices, findProvider }: LookParts,
  planned: PlannedWork,
  {
    mode,
    tenant,
    ...limits
  }: { readonly mode: ScoringMode; readonly tenant: string } & Omit<Pace, 'findProvider' | 'places'>,
): Promise<CostEstimate> {
  const pairs = planned.list();
  const keys = new Map(pairs.flatMap(({ sample }) => [...sample]));
  const runs = await renderWork(scoring, [...keys.values()], mode, sessions);
  const scorers = [...new Set(pairs.flatMap(({ scorer }) => (scorer.isJudged ? [scorer.name] : [])))];
  const query = { tenant: tenant === '' ? undefined : tenant, repeatMark: REPEAT_MARK, limit: MOST_SIZES };
  const sizes = scorers.length === 0 ? [] : await readSizes({ ...query, scorers });
  const stored = await renderStored(scoring, sizes, mode.rules);
  const pace = { findProvider, places: scoring.judgeSlots.concurrency, ...limits };
  return estimateCost({ targets: planned.targets, pairs, runs, sizes, stored, prices, pace });
}

export function estimateCost(work: EstimatedWork): CostEstimate {
  const { pairs, sizes, stored, prices } = work;
  const learned = new Map(
    [...Map.groupBy(sizes, ({ scorer }) => scorer)].map(([scorer, calls]) => [
      scorer,
      learnScorer(calls, stored, prices),
    ]),
  );
  const parts = pairs
    .filter(({ scorer }) => scorer.isJudged)
    .map((pair) => estimatePair(pair, work, learned.get(pair.scorer.name) ?? null));
  const scorers = parts.map(({ estimate }) => estimate);
  const calls = sumCalls(parts.flatMap((part) => part.calls));
  return {
    judgeCalls: sumOf(scorers, 'judgeCalls'),
    inputTokens: sumOf(scorers, 'inputTokens'),
    outputTokens: sumOf(scorers, 'outputTokens'),
    costUsd: sumCosts(scorers.map(({ costUsd }) => costUsd)),
    costLow: sumCosts(scorers.map(({ costLow }) => costLow)),
    costHigh: sumCosts(scorers.map(({ costHigh }) => costHigh)),
    seconds: estimateSeconds(calls, work),
    basis: joinBases(scorers.map(({ basis }) => basis)),
    prompts: sumOf(parts, 'prompts'),
    scorers,
    unscored: countUnscored(work),
    unpriced: calls.filter(({ costUsd }) => costUsd === null).map(({ model }) => model),
    unknown: parts.filter((part) => part.isUnknown).map(({ estimate }) => estimate.scorer),
  };
}

/** Calls to one judge that are expected, their tokens and their cost, USD: numbers may be parts of a call. */
interface ExpectedCalls {
  /** `provider/model`. */
  readonly model: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number | null;
}

/** Multiplies the numbers of calls, and sums those of each judge. */
function sumCalls(expected: readonly ExpectedCalls[], factor = 1): ExpectedCalls[] {
  return [...Map.groupBy(expected, ({ model }) => model)].map(([model, calls]) => {
    const costUsd = sumCosts(calls.map((each) => each.costUsd));
    return {
      model,
      calls: factor * sumOf(calls, 'calls'),
      inputTokens: factor * sumOf(calls, 'inputTokens'),
      outputTokens: factor * sumOf(calls, 'outputTokens'),
      costUsd: costUsd === null ? null : factor * costUsd,
    };
  });
}

/** Calls that a scorer made for stored scores, by the size of the content of a run. */
interface LearnedScorer {
  /** Predicts the calls of a run; without a size, the mean of all runs. */
  readonly predict: (runBytes?: number) => ExpectedCalls[];
  readonly models: ReadonlySet<string>;
  /** Variance of the cost of one run around its prediction, USD squared. */
  readonly varianceUsd: number;
  /** Factor of this variance for the prediction itself: few stored runs, or runs of other sizes, tell less. */
  readonly measureDoubt: (runBytes: number) => number;
}

/**
 * Learns the calls of a run: their number is a mean, tokens and cost follow the size of the run. An answer that was reused is a call that was
 * not made. Returns null for very few runs.
 */
function learnScorer(
  sizes: readonly CallSize[],
  stored: EstimatedWork['stored'],
  prices: PriceTable,
): LearnedScorer | null {
  const runs = [...Map.groupBy(sizes, ({ scoreId }) => scoreId)].map(([scoreId, calls]) => ({
    attempts: countAttempts(calls),
    calls: calls.map((call) => ({ ...call, calls: 1, costUsd: findPaid(call, prices) })),
    runBytes: stored.get(scoreId)?.runBytes,
  }));
  const sized = runs.filter(({ runBytes }) => runBytes !== undefined);
  const learnable = sized.length < FEWEST_RUNS ? runs.map((run) => ({ ...run, runBytes: 0 })) : sized;
  if (learnable.length < FEWEST_RUNS) {
    return null;
  }
  const x = learnable.map(({ runBytes = 0 }) => runBytes);
  const center = mean(x);
  const models = new Set(sizes.map(({ model }) => model));
  const lines = [...models].map((model) => {
    const made = learnable.map(({ calls, attempts }) =>
      sumCalls(
        calls.filter((call) => call.model === model),
        1 / attempts,
      ),
    );
    const valuesOf = (member: 'calls' | 'inputTokens' | 'outputTokens' | 'costUsd') =>
      made.map(([call]) => call?.[member] ?? 0);
    const isPriced = made.every(([call]) => call?.costUsd !== null);
    const calls = mean(valuesOf('calls'));
    const [inputTokens, outputTokens, costUsd] = (['inputTokens', 'outputTokens', 'costUsd'] as const).map(
      (member) => fitLine(x, valuesOf(member)),
    ) as [Predictor, Predictor, Predictor];
    return { model, calls, inputTokens, outputTokens, costUsd: isPriced ? costUsd : () => null };
  });
  const predict = (runBytes = center): ExpectedCalls[] =>
    lines.map(({ model, calls, inputTokens, outputTokens, costUsd }) => ({
      model,
      calls,
      inputTokens: inputTokens(runBytes),
      outputTokens: outputTokens(runBytes),
      costUsd: costUsd(runBytes),
    }));
  const errors = learnable.map(
    ({ calls, attempts, runBytes }) =>
      (sumCosts(calls.map(({ costUsd }) => costUsd)) ?? 0) / attempts - (priceOf(predict(runBytes)) ?? 0),
  );
  const squares = sampleVariance(x) * (x.length - 1);
  return {
    predict,
    models,
    varianceUsd: sampleVariance(errors),
    measureDoubt: (runBytes) => 1 / x.length + (squares > 0 ? (runBytes - center) ** 2 / squares : 0),
  };
}

/** Counts how often a scorer ran for a score: a step asks its question once in each run. */
function countAttempts(calls: readonly CallSize[]): number {
  const first = calls.filter(({ isRepeat }) => !isRepeat);
  const steps = Map.groupBy(first, ({ step, model }) => JSON.stringify([step, model]));
  return Math.max(1, ...[...steps.values()].map((ofStep) => ofStep.length));
}

/**
 * Returns the cost of a stored call at the present price, USD. Providers ask less for input that they have cached. A change of the price
 * itself counts only as far as such a discount can explain it.
 */
function findPaid({ model, inputTokens, outputTokens, costUsd }: CallSize, prices: PriceTable) {
  const price = findPrice(model, prices);
  const full = findCost({ inputTokens, outputTokens }, price);
  const least = findCost({ inputTokens, outputTokens, cachedInputTokens: inputTokens }, price) ?? 0;
  return full === undefined ? null : Math.min(full, Math.max(least, costUsd ?? full));
}

type Predictor = (x: number) => number;

/** Fits a line by ordinary least squares. With few observations, or with equal sizes, the prediction is their mean. No prediction is below 0. */
function fitLine(x: readonly number[], y: readonly number[]): Predictor {
  const [meanX, meanY] = [mean(x), mean(y)];
  const varianceX = mean(x.map((each) => (each - meanX) ** 2));
  const covariance = mean(x.map((each, n) => (each - meanX) * ((y[n] ?? 0) - meanY)));
  const slope = x.length >= FEWEST_FOR_SLOPE && varianceX > 0 ? covariance / varianceX : 0;
  const most = MOST_BEYOND * Math.max(0, ...y);
  return (at) => Math.min(most, Math.max(0, meanY + slope * (at - meanX)));
}

function estimatePair(
  { rule, title, scorer, count, sample }: SampledPair,
  { runs: allRuns, prices }: EstimatedWork,
  learned: LearnedScorer | null,
) {
  const isRendered = canRender(scorer);
  const runs = [...sample.keys()].map((name) =>
    (allRuns.get(name) ?? []).filter((run) => run.rule === rule && run.scorer === scorer.name),
  );
  const expected = isRendered
    ? runs.map((ofTarget) => ofTarget.map((run) => expectCalls(run, scorer, { learned, prices })))
    : [learned === null ? [] : [{ calls: learned.predict(), basis: 'stored_calls' as const }]];
  const predictions = expected.flat().filter(({ basis }) => basis !== 'none');
  const basis = joinBases(predictions.map((each) => each.basis));
  const factor = count / expected.length;
  const calls = sumCalls(
    predictions.flatMap((each) => each.calls),
    factor,
  );
  const rendered = runs.flat();
  const costs = expected.map((each) => priceOf(each.flatMap((run) => run.calls)));
  const estimate: ScorerEstimate = {
    rule: title,
    scorer: scorer.name,
    judges: calls.map(({ model }) => model),
    costsUsd: calls.map((each) => each.costUsd),
    targets: count,
    rendered: isRendered ? expected.filter((each) => each.some((run) => run.basis !== 'none')).length : 0,
    judgeCalls: Math.round(sumOf(calls, 'calls')),
    inputTokens: Math.round(sumOf(calls, 'inputTokens')),
    outputTokens: Math.round(sumOf(calls, 'outputTokens')),
    ...estimateInterval(costs, {
      count,
      variance: measureVariance(
        learned,
        predictions.length * factor,
        mean(rendered.map((run) => run.runBytes)),
      ),
      factor: basis === 'stored_calls' ? 1 : DECLARED_FACTOR,
    }),
    basis,
  };
  const prompts = rendered.reduce((sum, run) => sum + run.calls.length, 0);
  return { estimate, calls, prompts, isUnknown: !isRendered && learned === null };
}

/** Expects of a run what stored calls tell, else declared lengths. */
function expectCalls(
  { calls: [first, ...further], runBytes }: RenderedRun,
  scorer: PreparedScorer,
  { learned, prices }: { readonly learned: LearnedScorer | null; readonly prices: PriceTable },
): { readonly calls: readonly ExpectedCalls[]; readonly basis: EstimateBasis } {
  if (first === undefined) {
    return { calls: [], basis: 'none' };
  }
  const known = learned?.models.has(first.model) === true ? learned.predict(runBytes) : [];
  const missing = [first, ...further].filter(({ model }) => !known.some((calls) => calls.model === model));
  // Only a cascade has further calls: some runs make them.
  const declared = missing.map((call) => {
    const share = call === first ? 1 : (scorer.scorer.cascade?.terms.share ?? 1);
    return sumCalls([declareCalls(call, scorer, prices)], share);
  });
  const bases = [
    known.length > 0 ? 'stored_calls' : 'none',
    missing.length > 0 ? 'declared_lengths' : 'none',
  ] as const;
  return { calls: [...known, ...declared.flat()], basis: joinBases(bases) };
}

/**
 * Declares the calls of a run that begins with this call, without knowledge of real ones: each later prompt step asks once, with the first
 * prompt and one reply. A reply has the length that budgets reserve for one.
 */
function declareCalls(first: PlannedCall, { scorer }: PreparedScorer, prices: PriceTable): ExpectedCalls {
  // A scorer that was made in another way has no steps that are known.
  const { getSteps } = scorer as { getSteps?: () => readonly { name: string; type: string }[] };
  const names: readonly string[] = STEP_NAMES;
  const later = (getSteps?.call(scorer) ?? []).filter(
    ({ name, type }) => type === 'prompt' && names.indexOf(name) > names.indexOf(first.step),
  ).length;
  const inputTokens = first.tokens.inputTokens * (1 + later) + first.tokens.outputTokens * later;
  const outputTokens = first.tokens.outputTokens * (1 + later);
  const costUsd = findCost({ inputTokens, outputTokens }, findPrice(first.model, prices)) ?? null;
  return { model: first.model, calls: 1 + later, inputTokens, outputTokens, costUsd };
}

function joinBases(bases: readonly EstimateBasis[]): EstimateBasis {
  const distinct = new Set(bases.filter((basis) => basis !== 'none'));
  return distinct.size > 1 ? 'mixed' : ([...distinct][0] ?? 'none');
}

/** Computes the variance of the cost of some runs around their prediction: of each run, and of the prediction itself. */
function measureVariance(learned: LearnedScorer | null, runs: number, runBytes: number): number {
  return learned === null ? 0 : learned.varianceUsd * (runs + runs ** 2 * learned.measureDoubt(runBytes));
}

/**
 * Estimates a total from the costs of a simple random sample without replacement, with its standard error: that of the sample, plus the
 * spread of the real costs around their predictions (Cochran, Sampling Techniques, 3rd edition, section 2.6).
 */
function estimateInterval(
  costs: readonly (number | null)[],
  { count, variance, factor }: { readonly count: number; readonly variance: number; readonly factor: number },
): Pick<CallCost, 'costUsd' | 'costLow' | 'costHigh'> {
  const priced = costs.flatMap((cost) => cost ?? []);
  if (priced.length < costs.length) {
    return { costUsd: null, costLow: null, costHigh: null };
  }
  const costUsd = count * mean(priced);
  const ofSample = (count ** 2 * sampleVariance(priced) * (1 - priced.length / count)) / priced.length;
  const margin = STANDARD_ERRORS * Math.sqrt(Math.max(0, ofSample) + variance);
  return {
    costUsd,
    costLow: Math.max(0, costUsd - margin) / factor,
    costHigh: (costUsd + margin) * factor,
  };
}

/** Scales the pairs of the samples that give no score to all targets, by the code of the reason. */
function countUnscored({ pairs, runs }: EstimatedWork): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { rule, scorer, count, sample } of pairs) {
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

/** Estimates the time of work in seconds: the longest of the times that each limit alone would need. */
function estimateSeconds(
  calls: readonly ExpectedCalls[],
  { targets, sizes, pace }: Pick<EstimatedWork, 'targets' | 'sizes' | 'pace'>,
): number {
  const { findProvider, places, share, tracesPerSecond, traces } = pace;
  const latencies = Map.groupBy(sizes, ({ model }) => model);
  const measureBusy = (of: readonly ExpectedCalls[]) =>
    of.reduce((sum, each) => {
      const ofJudge = latencies.get(each.model);
      const latencyMs =
        ofJudge === undefined ? UNKNOWN_LATENCY_MS : mean(ofJudge.map((call) => call.durationMs));
      return sum + (each.calls * latencyMs) / SECOND_MS;
    }, 0);
  const byProvider = Map.groupBy(calls, ({ model }) => model.split('/', 1)[0] ?? '');
  const providers = [...byProvider].flatMap(([name, of]) => {
    const { concurrency, requestsPerMinute = Infinity, tokensPerMinute = Infinity } = findProvider(name);
    return [
      measureBusy(of) / concurrency,
      (sumOf(of, 'calls') * MINUTE_S) / requestsPerMinute,
      ((sumOf(of, 'inputTokens') + sumOf(of, 'outputTokens')) * MINUTE_S) / tokensPerMinute,
    ].map((seconds) => seconds / share);
  });
  return Math.ceil(
    Math.max(
      targets / Math.min(tracesPerSecond ?? Infinity, TRACES_PER_SECOND),
      measureBusy(calls) / Math.min(Math.max(1, Math.floor(places * share)), traces ?? Infinity),
      ...providers,
    ),
  );
}

function priceOf(calls: readonly ExpectedCalls[]): number | null {
  return sumCosts(calls.map(({ costUsd }) => costUsd));
}

/** Sums costs; null when one of them is unknown. */
function sumCosts(costs: readonly (number | null)[]): number | null {
  return costs.reduce<number | null>((sum, cost) => (sum === null || cost === null ? null : sum + cost), 0);
}

function sumOf<Member extends string>(
  parts: readonly Readonly<Record<Member, number>>[],
  member: Member,
): number {
  return parts.reduce((sum, part) => sum + part[member], 0);
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Computes the variance of a sample (divided by n - 1); 0 for fewer than two values. */
function sampleVariance(values: readonly number[]): number {
  const center = mean(values);
  return values.length < 2
    ? 0
    : values.reduce((sum, value) => sum + (value - center) ** 2, 0) / (values.length - 1);
}
