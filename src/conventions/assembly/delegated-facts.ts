import type { RunPlan } from './run-plan.ts';

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
