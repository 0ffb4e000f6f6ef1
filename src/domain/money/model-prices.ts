/** US dollars per million tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** Price of input tokens read from the provider's prompt cache; when absent, `input`, and for Anthropic's models 0.1 times that. */
  readonly cachedInput?: number;
  /** Price of input tokens written to that cache; when absent, `input`, and for Anthropic's models 1.25 times that. */
  readonly cacheWrite?: number;
  /** Price of output tokens that a model thinks; when absent, `output`. */
  readonly reasoning?: number;
}

/** Prices by `provider/model`. */
export type PriceTable = Readonly<Record<string, ModelPrice>>;

/**
 * List prices of well-known models, as a starting point only: providers change them. Each provider has the month of its list.
 * `judges.prices` in the configuration overrides them. A model without an entry has no price: its cost is unknown, not 0.
 */
const DEFAULT_PRICES: PriceTable = {
  // 2025-11; gpt-6-luna: 2026-11
  'openai/gpt-5.1': { input: 1.25, cachedInput: 0.125, output: 10 },
  'openai/gpt-5': { input: 1.25, cachedInput: 0.125, output: 10 },
  'openai/gpt-5-mini': { input: 0.25, cachedInput: 0.025, output: 2 },
  'openai/gpt-5-nano': { input: 0.05, cachedInput: 0.005, output: 0.4 },
  'openai/gpt-4.1': { input: 2, cachedInput: 0.5, output: 8 },
  'openai/gpt-4.1-mini': { input: 0.4, cachedInput: 0.1, output: 1.6 },
  'openai/gpt-4.1-nano': { input: 0.1, cachedInput: 0.025, output: 0.4 },
  'openai/gpt-4o': { input: 2.5, cachedInput: 1.25, output: 10 },
  'openai/gpt-4o-mini': { input: 0.15, cachedInput: 0.075, output: 0.6 },
  'openai/o3': { input: 2, cachedInput: 0.5, output: 8 },
  'openai/o4-mini': { input: 1.1, cachedInput: 0.275, output: 4.4 },
  'openai/gpt-6-luna': { input: 0.1, output: 0 },
  // 2026-03
  'anthropic/claude-haiku-4-5': { input: 1, output: 5 },
  'anthropic/claude-sonnet-4-5': { input: 3, output: 15 },
  'anthropic/claude-sonnet-4-6': { input: 3, output: 15 },
  'anthropic/claude-opus-4-5': { input: 5, output: 25 },
  'anthropic/claude-opus-4-6': { input: 5, output: 25 },
  // 2025-11, questions up to 200,000 tokens
  'google/gemini-2.5-pro': { input: 1.25, cachedInput: 0.125, output: 10 },
  'google/gemini-2.5-flash': { input: 0.3, cachedInput: 0.03, output: 2.5 },
  'google/gemini-2.5-flash-lite': { input: 0.1, cachedInput: 0.01, output: 0.4 },
  'google-vertex/gemini-2.5-pro': { input: 1.25, cachedInput: 0.125, output: 10 },
  'google-vertex/gemini-2.5-flash': { input: 0.3, cachedInput: 0.03, output: 2.5 },
  // 2025-11
  'amazon-bedrock/amazon.nova-micro-v1:0': { input: 0.035, output: 0.14 },
  'amazon-bedrock/amazon.nova-lite-v1:0': { input: 0.06, output: 0.24 },
  'amazon-bedrock/amazon.nova-pro-v1:0': { input: 0.8, output: 3.2 },
  'mistral/mistral-small-latest': { input: 0.1, output: 0.3 },
  'mistral/mistral-medium-latest': { input: 0.4, output: 2 },
  'groq/llama-3.1-8b-instant': { input: 0.05, output: 0.08 },
  'groq/llama-3.3-70b-versatile': { input: 0.59, output: 0.79 },
  'xai/grok-3-mini': { input: 0.3, cachedInput: 0.075, output: 0.5 },
  'xai/grok-4-fast-non-reasoning': { input: 0.2, cachedInput: 0.05, output: 0.5 },
  'cohere/command-r7b-12-2024': { input: 0.0375, output: 0.15 },
  'cohere/command-a-03-2025': { input: 2.5, output: 10 },
  'deepseek/deepseek-chat': { input: 0.28, cachedInput: 0.028, output: 0.42 },
  'togetherai/meta-llama/Llama-3.3-70B-Instruct-Turbo': { input: 0.88, output: 0.88 },
  'fireworks/accounts/fireworks/models/llama-v3p3-70b-instruct': { input: 0.9, output: 0.9 },
};

/** Suffix of a dated snapshot: `-2025-08-07`, `-20250807`. */
const SNAPSHOT = /-(\d{4}-\d{2}-\d{2}|\d{8})$/;

const OF_ANTHROPIC = /claude|^anthropic\//;

/** Prices of Anthropic for input tokens that it reads from its cache and writes to it, as factors of `input`. */
const ANTHROPIC_CACHE = { read: 0.1, write: 1.25 };

/** Finds the price of a model by its exact name, or by the name before the suffix of a dated snapshot. */
export function findPrice(model: string, overrides: PriceTable = {}): ModelPrice | undefined {
  for (const name of [model, model.replace(SNAPSHOT, '')]) {
    for (const table of [overrides, DEFAULT_PRICES]) {
      if (Object.hasOwn(table, name)) {
        return withCache(name, table[name]);
      }
    }
  }
  return undefined;
}

function withCache(name: string, price: ModelPrice | undefined): ModelPrice | undefined {
  if (price === undefined || !OF_ANTHROPIC.test(name)) {
    return price;
  }
  const { input } = price;
  return { cachedInput: input * ANTHROPIC_CACHE.read, cacheWrite: input * ANTHROPIC_CACHE.write, ...price };
}

/** Part of the list price that providers ask for requests in batches. */
const BATCH_PRICE = 0.5;

/** Returns the prices of judges that are asked in batches, over a table. */
export function priceBatches(judges: readonly string[], table: PriceTable): PriceTable {
  const batched = judges.flatMap((judge) => {
    const price = Object.entries(findPrice(judge, table) ?? {});
    const cut = price.map(([kind, usd]) => [kind, (usd as number) * BATCH_PRICE]);
    return price.length === 0 ? [] : [[judge, Object.fromEntries(cut) as ModelPrice] as const];
  });
  return { ...table, ...Object.fromEntries(batched) };
}

/** Token counts of a call; input counts include the cached ones. */
interface PricedUsage {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly cachedInputTokens?: number | undefined;
  readonly cacheWriteTokens?: number | undefined;
  /** Name of `cacheWriteTokens` in the usage of a judge. */
  readonly cacheCreationInputTokens?: number | undefined;
  /** Part of the output tokens. */
  readonly reasoningTokens?: number | undefined;
}

/** Computes the cost of a usage in US dollars; undefined when the price or one of the two counts is unknown. */
export function findCost(usage: PricedUsage | undefined, price: ModelPrice | undefined): number | undefined {
  if (usage?.inputTokens === undefined || usage.outputTokens === undefined || price === undefined) {
    return undefined;
  }
  const cached = Math.min(usage.cachedInputTokens ?? 0, usage.inputTokens);
  const { cacheWriteTokens = usage.cacheCreationInputTokens ?? 0 } = usage;
  const written = Math.min(cacheWriteTokens, usage.inputTokens - cached);
  const thought = Math.min(usage.reasoningTokens ?? 0, usage.outputTokens);
  const input =
    (usage.inputTokens - cached - written) * price.input +
    cached * (price.cachedInput ?? price.input) +
    written * (price.cacheWrite ?? price.input);
  const output = (usage.outputTokens - thought) * price.output + thought * (price.reasoning ?? price.output);
  return (input + output) / 1_000_000;
}

const NO_OVERRIDES: PriceTable = {};

/** Most names of models whose prices are remembered by table. Names come from spans. */
const MOST_REMEMBERED = 1_000;

const remembered = new WeakMap<PriceTable, Map<string, ModelPrice | undefined>>();

/**
 * Finds the price of a model by its name without a provider, as spans have it. Returns undefined when its providers ask different
 * prices. Every model call of every run asks for it, so the answers are remembered.
 */
export function findPriceByModel(
  model: string,
  overrides: PriceTable = NO_OVERRIDES,
): ModelPrice | undefined {
  const prices = remembered.get(overrides) ?? new Map<string, ModelPrice | undefined>();
  if (!prices.has(model)) {
    if (prices.size >= MOST_REMEMBERED) {
      prices.clear();
    }
    remembered.set(overrides, prices.set(model, searchPrice(model, overrides)));
  }
  return prices.get(model);
}

function searchPrice(model: string, overrides: PriceTable): ModelPrice | undefined {
  const exact = findPrice(model, overrides);
  if (exact !== undefined) {
    return exact;
  }
  for (const name of [model, model.replace(SNAPSHOT, '')]) {
    for (const table of [overrides, DEFAULT_PRICES]) {
      const prices = Object.entries(table).flatMap(([key, price]) =>
        key.slice(key.indexOf('/') + 1) === name ? [withCache(key, price)] : [],
      );
      if (prices.length > 0) {
        return prices.every((price) => isSamePrice(price, prices[0])) ? prices[0] : undefined;
      }
    }
  }
  return undefined;
}

/** Returns true for equal prices, and for two unknown ones. */
export function isSamePrice(a: ModelPrice | undefined, b: ModelPrice | undefined): boolean {
  return (
    a?.input === b?.input &&
    a?.output === b?.output &&
    a?.cachedInput === b?.cachedInput &&
    a?.cacheWrite === b?.cacheWrite &&
    a?.reasoning === b?.reasoning
  );
}

/** Writes the configuration line that gives a model a price. Its example is no 0, with which a budget would limit nothing. */
export function priceLine(model: string): string {
  const key = /^[\w./-]+$/.test(model) ? model : JSON.stringify(model);
  return `prices: { ${key}: { input: 0.25, output: 2 } }`;
}

/** Writes the advice for a budget whose judge has no price. */
export function unpricedBudget(judge: string): string {
  return `the judge ${judge} has no known price, so the budget cannot be kept; write under judges: ${priceLine(judge)} with the prices of its provider (USD per million tokens), or remove the budget`;
}
