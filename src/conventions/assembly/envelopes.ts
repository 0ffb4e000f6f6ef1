import { messageKey } from './message-key.ts';
import { answersItself, asksItself } from './own-answer.ts';
import { createPlan, firstInput, type RunPlan } from './run-plan.ts';
import { splitInput } from './split-input.ts';
import { fillGaps } from '../normalise-span.ts';

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
    for (const replacement of replacements.filter(({ kind }) => kind === 'envelope')) {
      added.push(replacement);
    }
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

/**
 * Gives a sub-agent without a question and an answer those of the tool call above it, when the emitter has them only there, and
 * the name in that call.
 */
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
