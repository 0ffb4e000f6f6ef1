import type { SpanNode } from './span-tree.ts';
import { callKey } from './run-plan.ts';
import type { CallPart, ResultPart } from '../normalised-span.ts';

/** A tool call of the run with its result. */
export interface Call {
  /** The call as the model requested it. */
  asked: CallPart;
  id: string | null;
  name: string;
  args: unknown;
  state: 'call' | 'result' | 'error' | 'denied';
  result: unknown;
  errorText: string;
  /** True when it failed and its span gives no reason: a later model call may have received the reason. */
  vague: boolean;
  /** A transfer of the conversation to another agent. */
  handoff: boolean;
  span: SpanNode | undefined;
  /** True when the call was found in the input of a model call, not in an output. */
  fromInput: boolean;
}

const HANDOFF = /^(transfer|hand ?off)[ _-]to[ _-]/i;

/** Returns the agent that the name of a transfer names; undefined for any other tool. */
export function transferTarget(name: string): string | undefined {
  const start = HANDOFF.exec(name)?.[0];
  return start === undefined ? undefined : name.slice(start.length);
}

export function createCall(asked: CallPart): Call {
  return {
    asked,
    id: asked.id,
    name: asked.name,
    args: asked.args,
    state: 'call',
    result: undefined,
    errorText: '',
    vague: false,
    handoff: HANDOFF.test(asked.name),
    span: undefined,
    fromInput: false,
  };
}

/** Sets the result of a call. A call that already has a result keeps it. */
export function settle(call: Call, outcome: Pick<ResultPart, 'result' | 'errorText' | 'denied'>): void {
  if (call.vague) {
    const text = outcome.errorText ?? outcome.result;
    call.errorText = typeof text === 'string' && text !== '' ? text : call.errorText;
    call.vague = false;
    return;
  }
  if (call.state !== 'call') {
    return;
  }
  if (outcome.errorText === undefined && isErrorText(outcome.result)) {
    settle(call, { result: undefined, errorText: outcome.result });
  } else if (outcome.errorText !== undefined) {
    call.state = 'error';
    call.errorText = outcome.errorText;
  } else if (outcome.denied === true) {
    call.state = 'denied';
    call.result = outcome.result;
  } else if (outcome.result !== undefined) {
    call.state = 'result';
    call.result = outcome.result;
  }
}

/** True for a text that reports an error: without a tool span, it is the only sign of a failure. */
function isErrorText(result: unknown): result is string {
  return typeof result === 'string' && /^(Error|Exception|Traceback)\b[ :(]/.test(result);
}

/** Normalises a tool's name by removing what frameworks change in it: case, blanks, underscores. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** Most agents whose transfers are searched among calls of other names. */
const MAX_TARGETS = 50;

/** Calls with the same key, taken in order: ids need not be unique, then the order decides. */
interface Queue {
  calls: Call[];
  /** Index of the first call without a tool span. */
  next: number;
  /** Index of the first call without a result. */
  open: number;
}

/** Index of a run's calls by id, by name and arguments, and by name in order. Each tool span is matched to one call. */
export class CallIndex {
  readonly #all: Queue = { calls: [], next: 0, open: 0 };
  readonly #handoffs: Queue = { calls: [], next: 0, open: 0 };
  readonly #byId = new Map<string, Queue>();
  /** Calls by id and name, and by id, name and arguments. */
  readonly #byExact = new Map<string, Queue>();
  readonly #byKey = new Map<string, Queue>();
  readonly #byPlainKey = new Map<string, Queue>();
  readonly #byName = new Map<string, Queue>();
  /** Calls by the target of a transfer that their names end with; filled when the tools are matched. */
  readonly #byTarget = new Map<string, Queue>();
  /** Calls without an id, by key; some get an id later. */
  readonly #unnamed = new Map<string, Queue>();

  get all(): readonly Call[] {
    return this.#all.calls;
  }

  add(call: Call): Call {
    this.#all.calls.push(call);
    if (call.handoff) {
      this.#handoffs.calls.push(call);
    }
    const key = callKey(call.name, call.args);
    if (call.id === null) {
      push(this.#unnamed, key, call);
    } else {
      this.#pushId(call, call.id, key);
    }
    push(this.#byKey, key, call);
    // The key of the plain name, without a second pass over the arguments.
    push(this.#byPlainKey, plainName(call.name) + key.slice(call.name.length), call);
    push(this.#byName, call.name, call);
    return call;
  }

  /** Finds the call that a part repeats. A call may get its id only after the model requested it. */
  find(part: CallPart): Call | undefined {
    const [known] = part.id === null ? [] : this.withId(part.id);
    if (known !== undefined) {
      return known;
    }
    const key = callKey(part.name, part.args);
    return part.id === null
      ? this.#byKey.get(key)?.calls[0]
      : this.#identify(firstUnnamed(this.#unnamed.get(key)), part.id);
  }

  withId(id: string): readonly Call[] {
    return this.#byId.get(id)?.calls ?? [];
  }

  /** Lists the calls with the id, name and arguments of a part, or by name and arguments for a part without an id. */
  equalTo(part: CallPart): readonly Call[] {
    const key = callKey(part.name, part.args);
    const queue = part.id === null ? this.#byKey.get(key) : this.#byExact.get(`${part.id} ${key}`);
    return queue?.calls ?? [];
  }

  /** Matches parts with unknown ids to calls of equal name and arguments that no other of the parts repeats. */
  matchRepeats(parts: readonly CallPart[]): Map<CallPart, Call> {
    const taken = new Set(parts.flatMap(({ id }) => this.#byId.get(id ?? '')?.calls[0] ?? []));
    const repeats = new Map<CallPart, Call>();
    const open = new Map<string, Call[]>();
    for (const part of parts.filter(({ id }) => id !== null && !this.#byId.has(id))) {
      const key = callKey(part.name, part.args);
      const equal =
        open.get(key) ?? (this.#byKey.get(key)?.calls ?? []).filter((one) => !taken.has(one)).toReversed();
      open.set(key, equal);
      const call = equal.pop();
      if (call !== undefined) {
        repeats.set(part, call);
      }
    }
    return repeats;
  }

  /** Makes a call known under a further id, which later results name. */
  addName(call: Call, id: string): void {
    this.#pushId(call, id, callKey(call.name, call.asked.args));
  }

  #pushId(call: Call, id: string, key: string): void {
    push(this.#byId, id, call);
    push(this.#byExact, `${id} ${call.name}`, call);
    push(this.#byExact, `${id} ${key}`, call);
  }

  /** Lists the calls whose name ends with the target of a transfer: its tool may have a name of its own. */
  #transfersTo(target: string | undefined): Queue | undefined {
    const name = plainName(target ?? '');
    const known = this.#byTarget.get(name);
    if (known !== undefined || name === '' || this.#byTarget.size >= MAX_TARGETS) {
      return known;
    }
    const calls = this.#all.calls.filter((call) => plainName(call.name).endsWith(name));
    const queue = { calls, next: 0, open: 0 };
    this.#byTarget.set(name, queue);
    return queue;
  }

  #identify(call: Call | undefined, id: string | undefined): Call | undefined {
    if (call?.id === null && id !== undefined) {
      call.id = id;
      this.addName(call, id);
    }
    return call;
  }

  /** Sets the result of the open call with this id, and name when several have the id; without an id, of the first open call of its name. */
  settleById(part: ResultPart): boolean {
    const named = part.id === null ? this.#byName.get(part.name ?? '') : this.#byId.get(part.id);
    const isRepeated = part.id !== null && part.name !== null && (named?.calls.length ?? 0) > 1;
    const exact = isRepeated ? this.#byExact.get(`${part.id} ${part.name}`) : undefined;
    settleFirst(exact ?? named, part);
    return named !== undefined;
  }

  /** Like `settleById`, but a result without any call id or name goes to the first open call. */
  settleNext(part: ResultPart): boolean {
    if (part.id !== null || part.name !== null) {
      return this.settleById(part);
    }
    return settleFirst(this.#all, part);
  }

  /** Returns the calls with an id that no other call has; an id that occurs more than once is no key. */
  #withUnique(id: string): Queue | undefined {
    const queue = this.#byId.get(id);
    return queue?.calls.length === 1 ? queue : undefined;
  }

  /** Pairs tool spans with calls: by id, else by name and arguments, else by name in order; a transfer with any transfer. */
  match(tools: readonly SpanNode[]): Map<SpanNode, Call | undefined> {
    const pairs = new Map<SpanNode, Call | undefined>(tools.map((tool) => [tool, undefined]));
    if (this.#all.calls.length === 0) {
      return pairs;
    }
    const rounds: ((tool: SpanNode) => Queue | undefined)[] = [
      ({ facts }) => (facts.toolCallId === undefined ? undefined : this.#withUnique(facts.toolCallId)),
      ({ facts }) => this.#byKey.get(callKey(facts.toolName ?? '', facts.toolArgs)),
      ({ facts }) => this.#byPlainKey.get(callKey(plainName(facts.toolName ?? ''), facts.toolArgs)),
      ({ facts }) => this.#byName.get(facts.toolName ?? ''),
      ({ facts, span }) => this.#transfersTo(transferTarget(facts.toolName ?? span.name)),
      ({ facts }) => this.#byId.get(facts.toolCallId ?? ''),
      ({ facts, span }) => (HANDOFF.test(facts.toolName ?? span.name) ? this.#handoffs : undefined),
    ];
    for (const findQueue of rounds) {
      for (const tool of tools) {
        const call = pairs.get(tool) === undefined ? take(findQueue(tool)) : undefined;
        if (call !== undefined) {
          call.span = tool;
          call.handoff ||= transferTarget(tool.facts.toolName ?? tool.span.name) !== undefined;
          pairs.set(tool, this.#identify(call, tool.facts.toolCallId));
        }
      }
    }
    return pairs;
  }
}

function push(queues: Map<string, Queue>, key: string, call: Call): void {
  const queue = queues.get(key) ?? { calls: [], next: 0, open: 0 };
  queue.calls.push(call);
  queues.set(key, queue);
}

/** Moves a cursor to the first call that fits; a call before it never fits again. */
function seek(
  queue: Queue = { calls: [], next: 0, open: 0 },
  cursor: 'next' | 'open',
  fits: (call: Call | undefined) => boolean,
): Call | undefined {
  while (queue[cursor] < queue.calls.length) {
    const call = queue.calls[queue[cursor]];
    if (fits(call)) {
      return call;
    }
    queue[cursor]++;
  }
  return undefined;
}

function firstUnnamed(queue: Queue | undefined): Call | undefined {
  return seek(queue, 'next', (call) => call?.id === null);
}

function settleFirst(queue: Queue | undefined, part: ResultPart): boolean {
  const call = seek(queue, 'open', (one) => one?.state === 'call' || one?.vague === true);
  if (call !== undefined) {
    settle(call, part);
  }
  return call !== undefined;
}

function take(queue: Queue | undefined): Call | undefined {
  const call = seek(queue, 'next', (one) => one?.span === undefined);
  if (queue !== undefined) {
    queue.next++;
  }
  return call;
}
