import { textIn } from '../messages/read-messages.ts';
import type { NormalPart, SpanFacts } from '../normalised-span.ts';
import { createCall, transferTarget } from './call-index.ts';
import { firstInput, type RunPlan } from './run-plan.ts';
import type { SpanNode } from './span-tree.ts';
import { splitInput } from './split-input.ts';
import { endUnixNano } from '../../domain/trace/span.ts';
import { comparable, finalText } from './transcript.ts';

/** Orders an output that is grouped by kind, in the only possible order: thoughts, calls, results, files, answer. */
export function orderedOutput(facts: SpanFacts): readonly NormalPart[] {
  const output = facts.output ?? [];
  if (facts.outputGrouped !== true) {
    return output;
  }
  const rank: readonly NormalPart['type'][] = [
    'reasoning',
    'tool-call',
    'tool-result',
    'data',
    'file',
    'text',
  ];
  return rank.flatMap((type) => output.filter((part) => part.type === type));
}

/**
 * True when the run's own output is its answer, so that the work of agents below it is a result. It is not when the output only
 * repeats the answer of the last of them, or when that agent took over the conversation.
 */
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
export function asksItself(plan: RunPlan): boolean {
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

/** Returns the words of the user on which a run works. */
export function questionOf(plan: RunPlan): string {
  return splitInput(firstInput(plan))
    .turn.map((message) => textIn(message.parts))
    .join('\n')
    .trim();
}

/** Finds the answer of a run that is not yet built. */
function answerOf(plan: RunPlan): string {
  const own = finalText(orderedOutput(plan.root.facts));
  const said = plan.llms.toReversed().map((llm: SpanNode) => finalText(llm.facts.output ?? []));
  const below = plan.subs.at(-1);
  return own || said.find((text) => text !== '') || (below === undefined ? '' : answerOf(below));
}
