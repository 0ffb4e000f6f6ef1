/** Weight of a new cost in the averages. */
const WEIGHT = 0.2;

/** Deviations above the average that a call is expected to cost at most. */
const DEVIATIONS = 2;

/** First deviation of a model, as a part of its first cost. */
const FIRST_DEVIATION = 0.1;

/** Real cost divided by the estimate, as moving averages. */
interface CostRatio {
  readonly mean: number;
  readonly deviation: number;
}

/**
 * Real costs of the calls to each model, in relation to their estimates. A model that reasons costs more than the size of its
 * prompt shows.
 */
export class LearnedCosts {
  readonly #ratios = new Map<string, CostRatio>();

  /** Returns true when a call to the model has ended. */
  isKnown(model: string): boolean {
    return this.#ratios.has(model);
  }

  /** Returns the expected cost: the estimate, or more when earlier calls cost more than theirs. */
  expect(model: string, estimatedUsd: number): number {
    const { mean, deviation } = this.#ratios.get(model) ?? { mean: 1, deviation: 0 };
    return estimatedUsd * Math.max(1, mean + DEVIATIONS * deviation);
  }

  /** @param costUsd undefined when the provider did not send it */
  observe(model: string, estimatedUsd: number, costUsd: number | undefined): void {
    const known = this.#ratios.get(model);
    if (known === undefined) {
      const mean = (costUsd ?? estimatedUsd) / estimatedUsd;
      this.#ratios.set(model, { mean, deviation: costUsd === undefined ? 0 : mean * FIRST_DEVIATION });
    } else if (costUsd !== undefined) {
      const error = costUsd / estimatedUsd - known.mean;
      this.#ratios.set(model, {
        mean: known.mean + WEIGHT * error,
        deviation: known.deviation + WEIGHT * (Math.abs(error) - known.deviation),
      });
    }
  }
}
