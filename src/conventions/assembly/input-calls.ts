import type { CallPart, NormalPart, ResultPart } from '../normalised-span.ts';
import { type Call, type CallIndex, settle } from './call-index.ts';

/** True for a call, or for a result without a call in the input, of another run of the trace. */
export type IsElsewhere = (part: CallPart | ResultPart) => boolean;

/**
 * Reads the calls and results of one input, in their order. An id may occur more than once: then name and arguments tell the
 * calls apart, then the order does.
 */
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

  /** Finds the call of the run that a part repeats. */
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
