import type { SpanNode } from './span-tree.ts';
import type { NormalMessage } from '../normalised-span.ts';
import { canonicalJson } from '../../domain/identity.ts';

/** Deepest nesting of agents; a deeper agent is read as part of the agent at this depth. */
export const MAX_AGENT_DEPTH = 16;

/** Spans of one agent run, before any content is read. */
export interface RunPlan {
  root: SpanNode;
  /** `calls`: model calls without an agent span around them. `envelope`: several agents, one after the other, on one input. */
  kind: 'agent' | 'calls' | 'envelope';
  /** Model calls in order of time; tools and retrievers have the same order. Spans of nested agents are not included. */
  llms: SpanNode[];
  tools: SpanNode[];
  retrievers: SpanNode[];
  parent: RunPlan | null;
  /** The tool span that this run is below, when it is a sub-run. */
  via: SpanNode | null;
  subs: RunPlan[];
  depth: number;
  /** For an envelope: results of its members' tools, which appear as user messages but are not from the user. */
  relayed: ReadonlySet<unknown>;
  /** True when agents below were too deep and were read as part of this run. */
  tooDeep: boolean;
}

export function createPlan(
  root: SpanNode,
  kind: RunPlan['kind'],
  parent: RunPlan | null = null,
  via: SpanNode | null = null,
): RunPlan {
  const depth = parent === null ? 0 : parent.depth + 1;
  const plan: RunPlan = {
    root,
    kind,
    llms: [],
    tools: [],
    retrievers: [],
    parent,
    via,
    subs: [],
    depth,
    relayed: new Set(),
    tooDeep: false,
  };
  parent?.subs.push(plan);
  return plan;
}

export function firstInput(plan: RunPlan): NonNullable<SpanNode['facts']['input']> {
  const own = plan.root.facts.input;
  if (own !== undefined && own.length > 0) {
    return own;
  }
  return plan.llms.find((llm) => llm.facts.input !== undefined)?.facts.input ?? [];
}

/** The input messages of a model call in three groups. System messages are in none of them. */
export interface SplitInput {
  /** Messages before this turn. */
  readonly history: readonly NormalMessage[];
  /** The last block of user messages. */
  readonly turn: readonly NormalMessage[];
  /** Tool calls and results of the agent in this turn, after the user messages. */
  readonly inFlight: readonly NormalMessage[];
}

/** Splits an input. What follows the last block of user messages belongs to the turn when it ends with a tool result, else to the history. */
export function splitInput(messages: readonly NormalMessage[] = []): SplitInput {
  const split = splits.get(messages) ?? splitMessages(messages);
  splits.set(messages, split);
  return split;
}

/** Cached, because thousands of calls may share one input. */
const splits = new WeakMap<readonly NormalMessage[], SplitInput>();

function splitMessages(messages: readonly NormalMessage[]): SplitInput {
  const spoken = messages.filter((message) => message.role !== 'system');
  let end = spoken.length;
  while (end > 0 && spoken[end - 1]?.role !== 'user') {
    end--;
  }
  let start = end;
  while (start > 0 && spoken[start - 1]?.role === 'user') {
    start--;
  }
  const after = spoken.slice(end);
  const goesOn = after.at(-1)?.role === 'tool';
  return {
    history: [...spoken.slice(0, start), ...(goesOn ? [] : after)],
    turn: spoken.slice(start, end),
    inFlight: goesOn ? after : [],
  };
}

/** Removes the messages of `taken` from `messages`, counted from the end: for a question asked twice, the first one stays. */
export function subtract(
  messages: readonly NormalMessage[],
  taken: readonly NormalMessage[],
): NormalMessage[] {
  const counts = new Map<string, number>();
  for (const message of taken) {
    const key = messageKey(message);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  const left = messages.toReversed().filter((message) => {
    const key = messageKey(message);
    const count = counts.get(key) ?? 0;
    counts.set(key, count - 1);
    return count <= 0;
  });
  return left.toReversed();
}

/** Computes a key that is equal for equal messages in any convention: role, trimmed text, tool ids. */
export function messageKey(message: NormalMessage): string {
  const texts: string[] = [];
  const tools: string[] = [];
  for (const part of message.parts) {
    if (part.type === 'text') {
      texts.push(part.text);
    } else if (part.type === 'tool-call') {
      tools.push(part.id ?? callKey(part.name, part.args));
    } else if (part.type === 'tool-result') {
      tools.push(part.id ?? part.name ?? '');
    }
  }
  return JSON.stringify([message.role, texts.join('').replace(/\s+/g, ' ').trim(), ...tools]);
}

/** Computes the key of a call from name and arguments, for calls without an id. */
export function callKey(name: string, args: unknown): string {
  return `${name} ${canonicalJson(args ?? null)}`;
}
