import { ROUNDING_USD } from '../../domain/money/usd.ts';
import type { LearnedCosts } from './learned-costs.ts';

/**
 * Calls under way to models of which no call has ended. Their real costs are not known, so only a part of a budget may be under way
 * for them.
 */
export class FirstCalls {
  readonly #costs: LearnedCosts;
  /** Reserved for the calls under way to each model, USD. */
  readonly #openUsd: Map<string, number>;

  constructor(costs: LearnedCosts, openUsd: ReadonlyMap<string, number> = new Map()) {
    this.#costs = costs;
    this.#openUsd = new Map(openUsd);
  }

  /** Returns a copy, to plan with. */
  copy(): FirstCalls {
    return new FirstCalls(this.#costs, this.#openUsd);
  }

  /** Returns true for a model with known costs, for the only call under way, and for calls within the limit together. */
  mayStart(model: string, usd: number, limitUsd: number): boolean {
    const openUsd = this.#openUsd.get(model) ?? 0;
    return this.#costs.isKnown(model) || openUsd === 0 || openUsd + usd <= limitUsd + ROUNDING_USD;
  }

  /** Adds a call. Returns the function that removes it. */
  add(model: string, usd: number): () => void {
    if (this.#costs.isKnown(model)) {
      return () => undefined;
    }
    this.#change(model, usd);
    return () => this.#change(model, -usd);
  }

  #change(model: string, usd: number): void {
    const openUsd = (this.#openUsd.get(model) ?? 0) + usd;
    if (openUsd > ROUNDING_USD) {
      this.#openUsd.set(model, openUsd);
    } else {
      this.#openUsd.delete(model);
    }
  }
}
