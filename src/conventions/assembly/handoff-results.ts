import type { ResultPart } from '../normalised-span.ts';
import { createCall, plainName, transferTarget } from './call-index.ts';
import type { RunPlan } from './run-plan.ts';

/**
 * Finds the results of the trace's transfers, by the id of the call. Only the model of the next agent receives them, as part of
 * the conversation, so no other run contains them.
 */
export function handoffResults(plans: readonly RunPlan[]): ReadonlyMap<string, ResultPart> {
  const ids = new Set(plans.flatMap(transferIds));
  const results = new Map<string, ResultPart>();
  if (ids.size === 0) {
    return results;
  }
  const inputs = plans.flatMap((plan) => plan.llms).flatMap((llm) => llm.facts.input ?? []);
  for (const part of inputs.flatMap((message) => message.parts)) {
    if (part.type === 'tool-result' && part.id !== null && ids.has(part.id) && !results.has(part.id)) {
      results.set(part.id, part);
    }
  }
  return results;
}

function transferIds(plan: RunPlan): string[] {
  return plan.llms
    .flatMap((llm) => llm.facts.output ?? [])
    .flatMap((part) =>
      part.type === 'tool-call' && part.id !== null && createCall(part).handoff ? [part.id] : [],
    );
}

/**
 * Removes the error of each transfer whose target ran. Frameworks mark a transfer as failed when the model requested several at
 * once, although the first of them was done.
 */
export function clearTransferErrors(plans: readonly RunPlan[]): void {
  const agents = new Set(plans.flatMap(({ root }) => plainName(root.facts.agent ?? '')));
  for (const { facts, span } of plans.flatMap((plan) => plan.tools)) {
    const target = facts.error === undefined ? undefined : transferTarget(facts.toolName ?? span.name);
    if (target !== undefined && agents.has(plainName(target))) {
      facts.error = undefined;
    }
  }
}
