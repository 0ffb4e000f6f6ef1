import { findPrice, type PriceTable, findCost } from '../domain/money/model-prices.ts';

/** Calls to one judge that are expected: numbers may be parts of a call. */
export interface ExpectedCalls {
  /** `provider/model`. */
  readonly model: string;
  readonly calls: number;
  /** Tokens of all these calls. */
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Prices of a look. */
export interface Pricing {
  /** Prices over the built-in ones. */
  readonly prices: PriceTable;
  /** Part of the price that calls to a judge really cost, because its provider has cached their beginnings; 1 for an unknown judge. */
  readonly paidParts: ReadonlyMap<string, number>;
}

/** Computes the cost of calls in USD; null when a judge has no price. */
export function priceCalls(
  expected: readonly ExpectedCalls[],
  { prices, paidParts }: Pricing,
): number | null {
  let sum = 0;
  for (const { model, inputTokens, outputTokens } of expected) {
    const cost = findCost({ inputTokens, outputTokens }, findPrice(model, prices));
    if (cost === undefined) {
      return null;
    }
    sum += cost * (paidParts.get(model) ?? 1);
  }
  return sum;
}

/** Multiplies the numbers of calls. */
export function scaleCalls(expected: readonly ExpectedCalls[], factor: number): ExpectedCalls[] {
  return expected.map(({ model, calls, inputTokens, outputTokens }) => ({
    model,
    calls: calls * factor,
    inputTokens: inputTokens * factor,
    outputTokens: outputTokens * factor,
  }));
}

/** Sums the calls of each judge. */
export function sumCalls(expected: readonly ExpectedCalls[]): ExpectedCalls[] {
  return [...Map.groupBy(expected, ({ model }) => model)].map(([model, calls]) => ({
    model,
    calls: total(calls, 'calls'),
    inputTokens: total(calls, 'inputTokens'),
    outputTokens: total(calls, 'outputTokens'),
  }));
}

function total(expected: readonly ExpectedCalls[], member: 'calls' | 'inputTokens' | 'outputTokens'): number {
  return expected.reduce((sum, each) => sum + each[member], 0);
}
