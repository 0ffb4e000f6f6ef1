import { createCall, transferTarget } from './call-index.ts';
import { createPlan, firstInput, type RunPlan, messageKey, splitInput } from './run-plan.ts';
import type { SpanNode } from './span-tree.ts';
import { comparable, finalText } from './transcript.ts';
import { textIn } from '../messages/read-messages.ts';
import { fillGaps } from '../normalise-span.ts';
import type { NormalPart, SpanFacts } from '../normalised-span.ts';
import { endUnixNano } from '../../domain/trace/span.ts';

/**
 * Resolves envelopes: an agent span around other agents, without any model or tool call of its own, is no agent, unless it
 * gives an answer of its own. Around one agent it only adds missing facts to that agent, unless its question is another. Around
 * several it is one run with its members as sub-runs (a handoff, a sequence of agents), or several runs when the members answer
 * one user turn after the other. Returns the remaining plans.
 */
export function resolveEnvelopes(plans: readonly RunPlan[]): RunPlan[] {
  const added: RunPlan[] = [];
  const replaced = new Map<RunPlan, RunPlan[]>();
  for (const plan of plans.toReversed()) {
    plan.subs = plan.subs.flatMap((sub) => replaced.get(sub) ?? [sub]);
    const isEmpty = plan.llms.length === 0 && plan.tools.length === 0;
    if (plan.kind !== 'agent' || !isEmpty || plan.subs.length === 0 || answersItself(plan)) {
      continue;
    }
    const turns = listTurns(plan.subs);
    if ((turns.length === 1 && plan.subs.length > 1) || asksItself(plan)) {
      plan.kind = 'envelope';
      continue;
    }
    const replacements = turns.map((members) => replacementFor(plan, members, turns.length === 1));
    replacements.filter(({ kind }) => kind === 'envelope').forEach((one) => added.push(one));
    for (const replacement of replacements) {
      replacement.parent = plan.parent;
      replacement.via = plan.via;
    }
    replaced.set(plan, replacements);
  }
  const standing = [...plans.filter((plan) => !replaced.has(plan)), ...added];
  for (const plan of standing.filter(({ kind }) => kind === 'envelope')) {
    plan.relayed = new Set(plan.subs.flatMap((sub) => sub.tools.map((tool) => tool.facts.toolResult)));
  }
  return added.length === 0 ? standing : parentsFirst(standing);
}

/** Groups consecutive members that work on the same user turn. */
function listTurns(members: readonly RunPlan[]): RunPlan[][] {
  const turns: RunPlan[][] = [];
  let asked: string[] = [];
  for (const member of members) {
    const { history, turn } = splitInput(firstInput(member));
    const keys = turn.map(messageKey);
    const past = new Set(history.map(messageKey));
    const isNext =
      asked.length > 0 && keys.length > 0 && !sameKeys(keys, asked) && asked.every((key) => past.has(key));
    const current = turns.at(-1);
    if (current === undefined || isNext) {
      turns.push([member]);
      asked = keys;
    } else {
      current.push(member);
    }
  }
  return turns;
}

function sameKeys(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((key, index) => key === b[index]);
}

function replacementFor(envelope: RunPlan, members: RunPlan[], alone: boolean): RunPlan {
  const [first] = members;
  if (first !== undefined && members.length === 1) {
    const { agent, agentVersion, session, user, system, error } = envelope.root.facts;
    fillGaps(first.root.facts, { agent, agentVersion, session, user, system, error });
    if (alone) {
      fillGaps(first.root.facts, { input: envelope.root.facts.input, output: envelope.root.facts.output });
    }
    return first;
  }
  const group = createPlan(first?.root ?? envelope.root, 'envelope');
  group.subs = members;
  members.forEach((member) => {
    member.parent = group;
  });
  return group;
}

/** Orders the plans so that each one stands before its sub-runs. */
export function parentsFirst(plans: readonly RunPlan[]): RunPlan[] {
  const sorted: RunPlan[] = [];
  const stack = plans.filter((plan) => plan.parent === null).toReversed();
  for (let plan = stack.pop(); plan !== undefined; plan = stack.pop()) {
    sorted.push(plan);
    for (const sub of plan.subs.toReversed()) {
      stack.push(sub);
    }
  }
  return sorted;
}

/** Gives a sub-agent without question and answer the texts of the tool call above it, and the name in that call. */
export function takeDelegatedFacts(plans: readonly RunPlan[]): void {
  for (const { via, root, llms } of plans) {
    const { input, output } = root.facts;
    if (via === null || input !== undefined || output !== undefined || llms.length > 0) {
      continue;
    }
    root.facts.agent = via.facts.agent ?? root.facts.agent;
    root.facts.input = via.facts.input;
    root.facts.output = via.facts.output;
  }
}

/** Orders an output that is grouped by kind, in the only possible order: thoughts, calls, results, files, answer. */
export function orderedOutput(facts: SpanFacts): readonly NormalPart[] {
  const output = facts.output ?? [];
  if (facts.outputGrouped !== true) {
    return output;
  }
  const rank = ['reasoning', 'tool-call', 'tool-result', 'data', 'file', 'text'] as const;
  return rank.flatMap((type) => output.filter((part) => part.type === type));
}

/** True when the run's own output is its answer: it does not only repeat the answer of the last agent below, and that one did not take over. */
export function answersItself(plan: RunPlan): boolean {
  const below = plan.subs.filter((sub) => sub.via === null);
  const last = below.at(-1);
  if (plan.kind !== 'agent' || last === undefined) {
    return false;
  }
  const own = comparable(finalText(orderedOutput(plan.root.facts)));
  if (own === '') {
    return plan.root.role === 'agent' && hasSpoken(plan) && !below.some((sub) => takesOver(sub, plan));
  }
  if (isElsewhere(last, plan)) {
    return true;
  }
  const told = comparable(answerOf(last));
  if (plan.root.role === 'agent') {
    return told !== '' && told !== own;
  }
  // A function of the application gives back what its agents said, in a form of its own.
  const isAround = plan.subs.length > 1 || plan.llms.length > 0;
  return told !== '' && isAround && !own.includes(told);
}

/** True when an agent without model calls was asked something else than the first agent below it. */
function asksItself(plan: RunPlan): boolean {
  const [first] = plan.subs;
  if (first === undefined || plan.root.role !== 'agent') {
    return false;
  }
  const isNamedAlike = first.root.facts.agent === plan.root.facts.agent;
  const [own, passed] = [questionOf(plan), questionOf(first)];
  const isAnother = own !== '' && passed !== '' && !passed.includes(own) && !own.includes(passed);
  return isAnother || (!isNamedAlike && isElsewhere(first, plan));
}

/** True for an agent in another service: a request was between the two, no transfer of the conversation. */
function isElsewhere(sub: RunPlan, plan: RunPlan): boolean {
  return sub.root.span.serviceName !== plan.root.span.serviceName;
}

/** True when the run's last model call gave an answer, and no model call transferred the conversation. */
function hasSpoken({ llms, tools }: RunPlan): boolean {
  const calls = llms.flatMap(({ facts }) => facts.output ?? []).filter((part) => part.type === 'tool-call');
  const last = llms.at(-1)?.facts.output ?? [];
  return (
    finalText(last) !== '' &&
    !last.some((part) => part.type === 'tool-call') &&
    !calls.some((part) => createCall(part).handoff) &&
    !tools.some(({ facts, span }) => transferTarget(facts.toolName ?? span.name) !== undefined)
  );
}

/** True when the agent began after the run's last model call, with the same question, or with one that is not known. */
function takesOver(sub: RunPlan, plan: RunPlan): boolean {
  const last = plan.llms.at(-1);
  const isAfter = last === undefined || sub.root.span.startUnixNano >= endUnixNano(last.span);
  const asked = questionOf(sub);
  return isAfter && (asked === '' || asked.includes(questionOf(plan)));
}

export function questionOf(plan: RunPlan): string {
  return splitInput(firstInput(plan))
    .turn.map((message) => textIn(message.parts))
    .join('\n')
    .trim();
}

function answerOf(plan: RunPlan): string {
  const own = finalText(orderedOutput(plan.root.facts));
  const said = plan.llms.toReversed().map((llm: SpanNode) => finalText(llm.facts.output ?? []));
  const below = plan.subs.at(-1);
  return own || said.find((text) => text !== '') || (below === undefined ? '' : answerOf(below));
}
