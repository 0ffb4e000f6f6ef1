import type { TokenUsage } from '../../domain/trace/agent-run.ts';
import { addUsage } from '../../domain/trace/token-usage.ts';
import type { RunPlan } from './run-plan.ts';
import type { SpanNode } from './span-tree.ts';

const NO_USAGE: TokenUsage = {
  inputTokens: null,
  outputTokens: null,
  totalTokens: null,
  reasoningTokens: null,
  cachedInputTokens: null,
  cacheWriteTokens: null,
};

/** Sums the usage of the run's own model calls. Spans above them repeat the sums, and count only when no call has usage. */
export function sumUsage({ llms, root, kind }: RunPlan): TokenUsage {
  const counted = llms.filter(
    (llm, index) => llm.facts.isUsageRepeated !== true || index === llms.length - 1,
  );
  const sum = sumCalls(counted);
  const isTold = sum.inputTokens !== null || sum.outputTokens !== null || sum.totalTokens !== null;
  return isTold || kind === 'envelope' ? sum : sumCalls([root]);
}

/**
 * Sums the usage of calls with one meaning: the input contains what was read from a cache and written to it, the output contains
 * the thoughts. An emitter that counts cached tokens beside the input does so in all its calls.
 */
function sumCalls(nodes: readonly SpanNode[]): TokenUsage {
  const beside = new Set(nodes.filter(isBeside).map(({ span }) => span.scopeName));
  return nodes
    .map((node) => includeParts(readCounts(node), beside.has(node.span.scopeName)))
    .reduce(addUsage, NO_USAGE);
}

function readCounts({ facts }: SpanNode): TokenUsage {
  return { ...NO_USAGE, ...facts.usage };
}

function countCached({ cachedInputTokens, cacheWriteTokens }: TokenUsage): number {
  return (cachedInputTokens ?? 0) + (cacheWriteTokens ?? 0);
}

/** True when the cached tokens cannot be a part of the input: there are more of them, or only with them the total is right. */
function isBeside(node: SpanNode): boolean {
  const usage = readCounts(node);
  const { inputTokens, outputTokens, totalTokens, reasoningTokens } = usage;
  const cached = countCached(usage);
  if (inputTokens === null || cached === 0) {
    return false;
  }
  const rest = (totalTokens ?? 0) - inputTokens - (outputTokens ?? 0);
  return cached > inputTokens || rest === cached || rest === cached + (reasoningTokens ?? 0);
}

function includeParts(usage: TokenUsage, isCacheBeside: boolean): TokenUsage {
  const { outputTokens, totalTokens, reasoningTokens } = usage;
  const inputTokens =
    usage.inputTokens !== null && isCacheBeside ? usage.inputTokens + countCached(usage) : usage.inputTokens;
  if (inputTokens === null || outputTokens === null) {
    return { ...usage, inputTokens };
  }
  const thoughts = reasoningTokens ?? 0;
  const areThoughtsBeside =
    thoughts > outputTokens || (totalTokens ?? 0) - inputTokens - outputTokens >= thoughts;
  const output = areThoughtsBeside ? outputTokens + thoughts : outputTokens;
  return {
    ...usage,
    inputTokens,
    outputTokens: output,
    totalTokens: Math.max(totalTokens ?? 0, inputTokens + output),
  };
}
