import type { ResultPart } from '../normalised-span.ts';
import { createCall } from './call-index.ts';
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
