import type { RunPlan } from './run-plan.ts';
import type { SpanNode } from './span-tree.ts';
import type { Block } from './transcript.ts';
import { isId } from '../attributes.ts';
import { readDocuments } from '../messages/payloads.ts';
import type { SpanFacts } from '../normalised-span.ts';
import { type RetrievedDocument, type TokenUsage, addUsage } from '../../domain/trace/agent-run.ts';
import { ANSWER_TOOLS } from '../../domain/trace/messages.ts';
import { endUnixNano } from '../../domain/trace/span.ts';
import { isRecord, textOrJson } from '../../domain/unknown-values.ts';

/** Names of tools whose results may be documents. */
const SEARCH_TOOL = /search|retriev|lookup|knowledge/i;

/** Lists the models that answered, most used first, then in order of first use. */
export function listModels(plan: RunPlan): string[] {
  const counts = new Map<string, number>();
  for (const llm of plan.llms) {
    const { model, output, error } = llm.facts;
    if (model !== undefined && (error === undefined || output !== undefined)) {
      counts.set(model, (counts.get(model) ?? 0) + 1);
    }
  }
  if (counts.size === 0 && plan.root.facts.model !== undefined) {
    return [plan.root.facts.model];
  }
  return [...counts].sort(([, a], [, b]) => b - a).map(([model]) => model);
}

/** Lists the spans that describe the run itself: its root, calls, tools and retrievers. */
export function memberNodes(plan: RunPlan): SpanNode[] {
  return [...new Set([plan.root, ...plan.llms, ...plan.tools, ...plan.retrievers])].filter(
    (node) => plan.kind !== 'calls' || node !== plan.root || plan.llms.includes(node),
  );
}

/** Computes start and end of the run: those of its root, or of its calls when no span contains exactly these calls. */
export function buildTimes(plan: RunPlan): { startMs: number; endMs: number } {
  const nodes =
    plan.kind === 'agent' ? [plan.root] : [...memberNodes(plan), ...plan.subs.map((sub) => sub.root)];
  const spans = (nodes.length === 0 ? [plan.root] : nodes).map((node) => node.span);
  const start = spans.reduce(
    (low, span) => (span.startUnixNano < low ? span.startUnixNano : low),
    spans[0]?.startUnixNano ?? 0n,
  );
  const end = spans.reduce((high, span) => (endUnixNano(span) > high ? endUnixNano(span) : high), start);
  return { startMs: milliseconds(start), endMs: milliseconds(end) };
}

/** Converts to milliseconds. JavaScript dates end in the year 275760; a later time becomes that limit. */
function milliseconds(unixNano: bigint): number {
  return Math.min(Number(unixNano / 1_000_000n), 8_640_000_000_000_000);
}

/** Finds the error of the run: it failed when its root failed, or when its last model call failed. */
export function findError(plan: RunPlan): SpanFacts['error'] {
  const own = plan.kind === 'agent' ? plan.root.facts.error : undefined;
  return own ?? plan.llms.at(-1)?.facts.error;
}

export function listDocuments(plan: RunPlan): RetrievedDocument[] {
  const seen = new Set<string>();
  return memberNodes(plan)
    .flatMap((node) => node.facts.documents ?? listToolDocuments(node))
    .filter((document) => {
      const key = JSON.stringify([document.id, document.content]);
      return !seen.has(key) && seen.add(key);
    });
}

/** Lists documents that a search tool returned: a list of objects, each with a text and an id or a score. */
function listToolDocuments({ role, facts }: SpanNode): RetrievedDocument[] {
  const list = facts.toolResult;
  if (role !== 'tool' || !SEARCH_TOOL.test(facts.toolName ?? '') || !Array.isArray(list)) {
    return [];
  }
  const documents = list.every(isRecord) ? readDocuments(list) : [];
  const areDocuments = documents.every((document) => document.id !== null || document.score !== null);
  return documents.length === list.length && areDocuments ? documents : [];
}

/** Lists the evidence for the answer: tool results in order, then documents; equal texts once. */
export function listContext(blocks: readonly Block[], documents: readonly RetrievedDocument[]): string[] {
  const entries = blocks.flatMap((block) => block.entries);
  const calls = entries.flatMap((entry) => (entry.kind === 'call' ? [entry.call] : []));
  const texts = calls.flatMap((call) => {
    if (call.handoff || ANSWER_TOOLS.has(call.name)) {
      return [];
    }
    if (call.state === 'error') {
      return [`${call.name} failed: ${call.errorText}`];
    }
    return call.state === 'result' ? [textOrJson(call.result)] : [];
  });
  return [...new Set([...texts, ...documents.map((document) => document.content)])].filter(
    (text) => text !== '',
  );
}

export interface Identity {
  session: string | null;
  user: string | null;
}

/** Lists session and user: of root or above, own spans, sub-runs, resource; a sub-run has its top run's, as sub-agents get private sessions. */
export function listIdentities(plansChildrenFirst: readonly RunPlan[]): Map<RunPlan, Identity> {
  const own = new Map<RunPlan, Identity>();
  for (const plan of plansChildrenFirst) {
    own.set(plan, { session: find(plan, 'session', own), user: find(plan, 'user', own) });
  }
  const shared = new Map<RunPlan, Identity>();
  for (const plan of plansChildrenFirst.toReversed()) {
    const above = plan.parent === null ? undefined : shared.get(plan.parent);
    const mine = own.get(plan);
    shared.set(plan, {
      session: above?.session ?? mine?.session ?? null,
      user: above?.user ?? mine?.user ?? null,
    });
  }
  return shared;
}

function find(plan: RunPlan, key: keyof Identity, known: ReadonlyMap<RunPlan, Identity>): string | null {
  const above = plan.root.inherited[key];
  if (above !== undefined) {
    return above;
  }
  const member = memberNodes(plan).find((node) => node.inherited[key] !== undefined);
  const sub = plan.subs.map((one) => known.get(one)?.[key] ?? null).find((value) => value !== null);
  const resource = plan.root.span.resourceAttributes;
  const inResource = [`${key}.id`, ...(key === 'user' ? ['enduser.id'] : [])]
    .map((name) => resource.get(name) ?? '')
    .find(isId);
  return member?.inherited[key] ?? sub ?? inResource ?? null;
}

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

/** Sums usage with one meaning: input contains the cache, output the thoughts. An emitter counts cached tokens beside the input always or never. */
function sumCalls(nodes: readonly SpanNode[]): TokenUsage {
  const beside = new Set(nodes.filter(isBeside).map(({ span }) => span.scopeName));
  return nodes
    .map((node) => includeParts({ ...NO_USAGE, ...node.facts.usage }, beside.has(node.span.scopeName)))
    .reduce(addUsage, NO_USAGE);
}

function countCached({ cachedInputTokens, cacheWriteTokens }: TokenUsage): number {
  return (cachedInputTokens ?? 0) + (cacheWriteTokens ?? 0);
}

/** True when the cached tokens cannot be a part of the input: there are more of them, or only with them the total is right. */
function isBeside(node: SpanNode): boolean {
  const usage = { ...NO_USAGE, ...node.facts.usage };
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
