import { findPrice, type PriceTable, findCost } from '../domain/money/model-prices.ts';
import type { CallSize } from '../store/contracts/judge-use.ts';
import { priceCalls, type ExpectedCalls, type Pricing } from './expected-calls.ts';
import { fitLine, mean, sampleVariance, type Predictor } from './linear-fit.ts';
import type { RenderedRun } from './render-calls.ts';

/** Fewest stored runs of a scorer from which its calls are learned. */
const FEWEST_RUNS = 5;

/** Sizes of a run that the calls depend on. */
type RunSizes = Pick<RenderedRun, 'calls' | 'runBytes'>;

/** Calls that were made for one score. */
interface StoredRun {
  readonly calls: readonly CallSize[];
  /** Times that the scorer ran. */
  readonly attempts: number;
  /** The run, rendered again; undefined when it is not known as it was. */
  readonly rendered: RunSizes | undefined;
}

/** Calls of one kind: a step that asks one judge, for the first time or again. */
interface CallKind {
  readonly model: string;
  /** Number of these calls in one run. */
  readonly perRun: number;
  readonly inputTokens: (run: RunSizes) => number;
  readonly outputTokens: (run: RunSizes) => number;
}

/** Kinds of calls of similar runs. */
interface LearnedRuns {
  readonly kinds: readonly CallKind[];
  readonly stored: readonly StoredRun[];
}

/** Spread of the cost of runs around their predictions, USD squared. */
export interface Spread {
  /** Variance of the cost of one run. */
  readonly ofRun: number;
  /** Variance of the prediction itself: few stored runs, or runs of other sizes, tell less. */
  readonly ofPrediction: number;
}

/**
 * Calls that one scorer made for stored scores. Runs that begin with the same question are learned by the sizes of their content and of
 * this question. An answer that was reused is a call that was not made, so that a step may have less than one call for a run.
 */
export class LearnedScorer {
  readonly #byFirst: ReadonlyMap<string, LearnedRuns>;
  readonly #all: LearnedRuns | null;

  /** @param rendered stored runs that were rendered again, by the id of the score */
  constructor(sizes: readonly CallSize[], rendered: ReadonlyMap<string, RunSizes>) {
    const runs = [...Map.groupBy(sizes, ({ scoreId }) => scoreId)].map(([scoreId, calls]): StoredRun => ({
      calls,
      attempts: countAttempts(calls),
      rendered: rendered.get(scoreId),
    }));
    const known = runs.filter((run) => run.rendered?.calls[0] !== undefined);
    const byFirst = Map.groupBy(known, (run) => nameFirst(run.rendered));
    this.#byFirst = new Map(
      [...byFirst].flatMap(([first, ofFirst]) =>
        ofFirst.length < FEWEST_RUNS ? [] : [[first, learnRuns(ofFirst)]],
      ),
    );
    this.#all = runs.length < FEWEST_RUNS ? null : learnRuns(runs);
  }

  /** Predicts the calls of a run from runs that begin alike, else from all runs; null when none with this judge are known. */
  predict(run: RunSizes): ExpectedCalls[] | null {
    const alike = this.#byFirst.get(nameFirst(run));
    if (alike !== undefined) {
      return predictFrom(alike, run);
    }
    const isKnown = this.#all?.kinds.some(({ model }) => model === run.calls[0]?.model) ?? false;
    return isKnown ? this.predictMean() : null;
  }

  /** Predicts the calls of a run of which nothing is known; null when no runs are known. */
  predictMean(): ExpectedCalls[] | null {
    return this.#all === null ? null : predictFrom(this.#all, UNKNOWN_RUN);
  }

  /**
   * Measures how far the cost of stored runs lies from its prediction, and how sure a prediction is for runs of other sizes (the variance of
   * the mean response of a simple linear regression).
   * @param runBytes mean size of the runs that are predicted
   */
  measureSpread(pricing: Pricing, runBytes: number): Spread {
    const learned = this.#byFirst.size > 0 ? [...this.#byFirst.values()] : [this.#all ?? NOTHING];
    const errors = learned.flatMap((runs) =>
      runs.stored.map(({ calls, attempts, rendered = UNKNOWN_RUN }) => {
        const real = calls.map((call) => ({ ...call, calls: 1 }));
        return (
          (priceCalls(real, pricing) ?? 0) / attempts -
          (priceCalls(predictFrom(runs, rendered), pricing) ?? 0)
        );
      }),
    );
    const ofRun = sampleVariance(errors);
    const sizes = learned.flatMap(({ stored }) => stored.flatMap(({ rendered }) => rendered?.runBytes ?? []));
    const squares = sampleVariance(sizes) * (sizes.length - 1);
    const distance = squares > 0 ? (runBytes - mean(sizes)) ** 2 / squares : 0;
    return { ofRun, ofPrediction: ofRun * (1 / Math.max(1, errors.length) + distance) };
  }
}

const UNKNOWN_RUN: RunSizes = { calls: [], runBytes: 0 };

const NOTHING: LearnedRuns = { kinds: [], stored: [] };

function nameFirst(run: RunSizes | undefined): string {
  const first = run?.calls[0];
  return first === undefined ? '' : nameStep(first);
}

function nameStep({ step, model }: Pick<CallSize, 'step' | 'model'>): string {
  return JSON.stringify([step, model]);
}

/** Counts how often a scorer ran for a score: a step asks its question once in each run. */
function countAttempts(calls: readonly CallSize[]): number {
  const steps = Map.groupBy(
    calls.filter(({ isRepeat }) => !isRepeat),
    nameStep,
  );
  return Math.max(1, ...[...steps.values()].map((ofStep) => ofStep.length));
}

function learnRuns(stored: readonly StoredRun[]): LearnedRuns {
  const attempts = stored.reduce((sum, run) => sum + run.attempts, 0);
  const observed = stored.flatMap(({ calls, rendered }) => calls.map((call) => ({ call, rendered })));
  const byKind = Map.groupBy(observed, ({ call }) => `${call.isRepeat} ${nameStep(call)}`);
  const kinds = [...byKind.values()].map((ofKind): CallKind => {
    const fit = (member: 'inputTokens' | 'outputTokens', sizeOf: (seen: (typeof ofKind)[number]) => number) =>
      fitLine(ofKind.map((seen) => ({ x: sizeOf(seen), y: seen.call[member] })));
    const byRun = ({ rendered }: (typeof ofKind)[number]) => rendered?.runBytes ?? 0;
    const [head] = ofKind;
    const isFirst =
      head !== undefined && !head.call.isRepeat && nameStep(head.call) === nameFirst(head.rendered);
    const inputTokens: Predictor = fit('inputTokens', isFirst ? ({ call }) => call.promptBytes : byRun);
    const outputTokens = fit('outputTokens', byRun);
    return {
      model: head?.call.model ?? '',
      perRun: ofKind.length / attempts,
      inputTokens: (run) => inputTokens(isFirst ? (run.calls[0]?.promptBytes ?? 0) : run.runBytes),
      outputTokens: (run) => outputTokens(run.runBytes),
    };
  });
  return { kinds, stored };
}

function predictFrom({ kinds }: LearnedRuns, run: RunSizes): ExpectedCalls[] {
  return kinds.map(({ model, perRun, inputTokens, outputTokens }) => ({
    model,
    calls: perRun,
    inputTokens: perRun * inputTokens(run),
    outputTokens: perRun * outputTokens(run),
  }));
}

/** Learns from stored calls, by the name of the scorer. */
export function learnScorers(
  sizes: readonly CallSize[],
  rendered: ReadonlyMap<string, RunSizes>,
): Map<string, LearnedScorer> {
  const byScorer = Map.groupBy(sizes, ({ scorer }) => scorer);
  return new Map([...byScorer].map(([scorer, calls]) => [scorer, new LearnedScorer(calls, rendered)]));
}

/**
 * Finds the part of the present price that calls to each judge cost. Providers ask less for input that they have cached. A change of
 * the price itself counts only as far as such a discount can explain it.
 */
export function findPaidParts(sizes: readonly CallSize[], prices: PriceTable): Map<string, number> {
  return new Map(
    [...Map.groupBy(sizes, ({ model }) => model)].map(([model, calls]) => {
      const price = findPrice(model, prices);
      const paid = calls.filter(({ costUsd }) => costUsd !== null);
      const costAt = (cachedPart: number) =>
        paid.reduce(
          (sum, { inputTokens, outputTokens }) =>
            sum +
            (findCost({ inputTokens, outputTokens, cachedInputTokens: cachedPart * inputTokens }, price) ??
              0),
          0,
        );
      const full = costAt(0);
      const cost = paid.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
      return [model, full === 0 ? 1 : Math.min(full, Math.max(costAt(1), cost)) / full];
    }),
  );
}

/** Computes the mean time of a call to each judge, milliseconds. */
export function findLatencies(sizes: readonly CallSize[]): Map<string, number> {
  return new Map(
    [...Map.groupBy(sizes, ({ model }) => model)].map(([model, calls]) => [
      model,
      mean(calls.map(({ durationMs }) => durationMs)),
    ]),
  );
}
