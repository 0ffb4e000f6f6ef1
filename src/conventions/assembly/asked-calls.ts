import { type Call, type CallIndex, createCall, plainName, settle, transferTarget } from './call-index.ts';
import { type RunPlan, callKey } from './run-plan.ts';
import type { SpanNode } from './span-tree.ts';
import type { CallPart, NormalPart, ResultPart } from '../normalised-span.ts';

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

/** Finds the results of transfers, by id and name of the call. Only the model of the next agent receives them, as conversation. */
export function handoffResults(plans: readonly RunPlan[]): ReadonlyMap<string, ResultPart> {
  const results = new Map<string, ResultPart>();
  const byId = Map.groupBy(
    plans.flatMap((plan) => listAsked(plan.llms)),
    ({ id }) => id,
  );
  for (const [id, calls] of byId) {
    if (!calls.some((call) => createCall(call).handoff)) {
      byId.delete(id);
    }
  }
  const inputs =
    byId.size === 0 ? [] : plans.flatMap((plan) => plan.llms).map((llm) => llm.facts.input ?? []);
  for (const input of inputs) {
    addResults(
      results,
      input.flatMap((message) => message.parts),
      byId,
    );
  }
  return results;
}

/** Adds the results in one input. For an id of several calls, the call before the result tells its name. */
function addResults(
  results: Map<string, ResultPart>,
  parts: readonly NormalPart[],
  byId: ReadonlyMap<string, readonly CallPart[]>,
): void {
  const open = new Map<string, string[]>();
  for (const part of parts) {
    const id = part.type === 'tool-call' || part.type === 'tool-result' ? (part.id ?? '') : '';
    const asked = byId.get(id);
    if (asked !== undefined && part.type === 'tool-call') {
      const names = open.get(id) ?? [];
      names.push(part.name);
      open.set(id, names);
    } else if (asked !== undefined && part.type === 'tool-result') {
      const name = asked.length === 1 ? asked[0]?.name : open.get(id)?.shift();
      const key = `${id} ${name}`;
      results.set(key, results.get(key) ?? part);
    }
  }
}

/** Removes the error of each transfer whose target ran: frameworks mark the first of several transfers as failed, although it was done. */
export function clearTransferErrors(plans: readonly RunPlan[]): void {
  const agents = new Set(plans.flatMap(({ root }) => plainName(root.facts.agent ?? '')));
  for (const { facts, span } of plans.flatMap((plan) => plan.tools)) {
    const target = facts.error === undefined ? undefined : transferTarget(facts.toolName ?? span.name);
    if (target !== undefined && agents.has(plainName(target))) {
      facts.error = undefined;
    }
  }
}

/** True for a call, or for a result without a call in the input, of another run of the trace. */
export type IsElsewhere = (part: CallPart | ResultPart) => boolean;

/** Reads the calls and results of one input. An id may occur more than once: then name and arguments tell the calls apart, then the order. */
export class InputCalls {
  readonly #calls: CallIndex;
  /** Numbers of the calls so far, by id, and by the equal calls of the run. */
  readonly #counts = new Map<string | readonly Call[], number>();
  /** Calls without a result so far, by id. */
  readonly #open = new Map<string, Set<Call>>();

  constructor(calls: CallIndex) {
    this.#calls = calls;
  }

  /** Makes the next results with the id of a part belong to a call. */
  open({ id }: CallPart, call: Call): void {
    const open = this.#open.get(id ?? '') ?? new Set();
    this.#open.set(id ?? '', open.add(call));
  }

  /** Removes the call of a result from the open ones; undefined when this input does not have the call. */
  close({ id, name }: ResultPart): Call | undefined {
    const open = id === null ? undefined : this.#open.get(id);
    if (open === undefined) {
      return undefined;
    }
    const [first] = open;
    const call = name === null ? first : ([...open].find((one) => one.name === name) ?? first);
    open.delete(call as Call);
    return call;
  }

  /** Gives a result to its call, else to the first call of the run that is open. */
  settle(part: ResultPart): void {
    const call = this.close(part);
    if (call === undefined) {
      this.#calls.settleNext(part);
    } else {
      settle(call, part);
    }
  }

  find(part: CallPart): Call | undefined {
    const named = part.id === null ? [] : this.#calls.withId(part.id);
    const count = this.#count(part.id ?? '');
    if (named.length === 0) {
      return this.#calls.find(part);
    }
    if (named.length === 1 && count === 0) {
      return named[0];
    }
    const equal = this.#calls.equalTo(part);
    if (named.length > 1 && equal.length === 0) {
      return named[count];
    }
    const nth = named.length === 1 ? count : this.#count(equal);
    const last = equal.at(-1);
    // Some emitters list a call twice. A call after its result is another one.
    return equal[nth] ?? (last !== undefined && this.#open.get(part.id ?? '')?.has(last) ? last : undefined);
  }

  #count(key: string | readonly Call[]): number {
    const count = this.#counts.get(key) ?? 0;
    this.#counts.set(key, count + 1);
    return count;
  }
}

/** Lists the parts without the calls of other runs and their results. */
export function listOwnParts(parts: readonly NormalPart[], isElsewhere: IsElsewhere): NormalPart[] {
  const others = new Map<string, boolean>();
  return parts.filter((part) => {
    if ((part.type !== 'tool-call' && part.type !== 'tool-result') || part.id === null) {
      return true;
    }
    const known = part.type === 'tool-result' ? others.get(part.id) : undefined;
    const isOther = known ?? isElsewhere(part);
    others.set(part.id, isOther);
    return !isOther;
  });
}
