import type { CallPart } from '../normalised-span.ts';
import type { IsElsewhere } from './input-calls.ts';
import { callKey } from './message-key.ts';
import type { RunPlan } from './run-plan.ts';
import type { SpanNode } from './span-tree.ts';

/** Lists the calls with an id that these model calls requested. */
export function listAsked(llms: readonly SpanNode[]): (CallPart & { id: string })[] {
  return llms
    .flatMap((llm) => llm.facts.output ?? [])
    .filter((part): part is CallPart & { id: string } => part.type === 'tool-call' && part.id !== null);
}

/** Maps ids, and ids with names, to the run whose model requested the call; null for more than one run. */
export function mapAsking(plans: readonly RunPlan[]): Map<string, RunPlan | null> {
  const asked = new Map<string, RunPlan | null>();
  for (const plan of plans) {
    for (const { id, name } of listAsked(plan.llms)) {
      for (const key of [id, `${id} ${name}`]) {
        addAsking(asked, key, plan);
      }
    }
  }
  return asked;
}

export function addAsking(asked: Map<string, RunPlan | null>, key: string, plan: RunPlan): void {
  asked.set(key, asked.has(key) && asked.get(key) !== plan ? null : plan);
}

/** Creates a function that tells the calls of other runs. Where several runs requested one id and name, the arguments decide. */
export function findOthers(plan: RunPlan, asked: ReadonlyMap<string, RunPlan | null>): IsElsewhere {
  let own: ReadonlySet<string> | undefined;
  return (part) => {
    const id = part.id ?? '';
    const asking = asked.get(part.type === 'tool-call' ? `${id} ${part.name}` : id);
    if (asking !== null) {
      return asking !== undefined && asking !== plan;
    }
    own ??= new Set(
      listAsked(plan.llms).flatMap((call) => [call.id, `${call.id} ${callKey(call.name, call.args)}`]),
    );
    return !own.has(part.type === 'tool-call' ? `${id} ${callKey(part.name, part.args)}` : id);
  };
}
