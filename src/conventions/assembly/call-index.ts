import type { CallPart, ResultPart } from '../normalised-span.ts';
import { callKey } from './message-key.ts';
import type { SpanNode } from './span-tree.ts';

/** A tool call of the run and what came of it. */
export interface Call {
  /** As the model asked for it. */
  asked: CallPart;
  id: string | null;
  name: string;
  args: unknown;
  state: 'call' | 'result' | 'error' | 'denied';
  result: unknown;
  errorText: string;
  /** It failed, but its span does not say why: a later model call may have been told. */
  vague: boolean;
  /** A transfer of the conversation to another agent. */
  handoff: boolean;
  span: SpanNode | undefined;
  /** Known from what a model call was given, not from what one said. */
  fromInput: boolean;
}

const HANDOFF = /^(transfer|hand ?off)[ _-]to[ _-]/i;

export function newCall(asked: CallPart): Call {
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

/** Tells a call what came of it; a call that knows already keeps what it knows. */
export function settle(call: Call, outcome: Pick<ResultPart, 'result' | 'errorText' | 'denied'>): void {
  if (call.vague) {
    const told = outcome.errorText ?? outcome.result;
    call.errorText = typeof told === 'string' && told !== '' ? told : call.errorText;
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

/** Frameworks hand a failure to the model as a text, and without a tool span nothing else tells of it. */
function isErrorText(result: unknown): result is string {
  return typeof result === 'string' && /^(Error|Exception|Traceback)\b[ :(]/.test(result);
}

/** A tool's name without what frameworks change in it: case, blanks, underscores. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** Calls under one key, handed out in order; ids need not be unique, then order decides. */
interface Queue {
  calls: Call[];
  /** Calls before this one have their tool span. */
  next: number;
  /** Calls before this one are settled. */
  open: number;
}

/** The calls of a run, to be found by id, by name and arguments, or by name in order. Each tool span takes one. */
export class CallIndex {
  readonly #all: Queue = { calls: [], next: 0, open: 0 };
  readonly #handoffs: Queue = { calls: [], next: 0, open: 0 };
  readonly #byId = new Map<string, Queue>();
  readonly #byKey = new Map<string, Queue>();
  readonly #byPlainKey = new Map<string, Queue>();
  readonly #byName = new Map<string, Queue>();
  /** Calls that came without an id, by key; some are given theirs later. */
  readonly #unnamed = new Map<string, Queue>();

  get all(): readonly Call[] {
    return this.#all.calls;
  }

  add(call: Call): Call {
    this.#all.calls.push(call);
    if (call.id !== null) {
      push(this.#byId, call.id, call);
    }
    if (call.handoff) {
      this.#handoffs.calls.push(call);
    }
    const key = callKey(call.name, call.args);
    if (call.id === null) {
      push(this.#unnamed, key, call);
    }
    push(this.#byKey, key, call);
    // The key of the plain name, without a second pass over the arguments.
    push(this.#byPlainKey, plainName(call.name) + key.slice(call.name.length), call);
    push(this.#byName, call.name, call);
    return call;
  }

  /** The call that a repetition of it means. An id may be given to a call only after the model asked for it. */
  find(part: CallPart): Call | undefined {
    const key = callKey(part.name, part.args);
    if (part.id === null) {
      return this.#byKey.get(key)?.calls[0];
    }
    const known = this.#byId.get(part.id)?.calls[0];
    return known ?? this.#identify(firstUnnamed(this.#unnamed.get(key)), part.id);
  }

  #identify(call: Call | undefined, id: string | undefined): Call | undefined {
    if (call?.id === null && id !== undefined) {
      call.id = id;
      push(this.#byId, id, call);
    }
    return call;
  }

  /** Settles the open call with this id; one without an id settles the first open call of its name. */
  settleById(part: ResultPart): boolean {
    const queue = part.id === null ? this.#byName.get(part.name ?? '') : this.#byId.get(part.id);
    settleFirst(queue, part);
    return queue !== undefined;
  }

  /** As `settleById`, but a result that names no call at all settles the first open one. */
  settleNext(part: ResultPart): boolean {
    if (part.id !== null || part.name !== null) {
      return this.settleById(part);
    }
    return settleFirst(this.#all, part);
  }

  /** Pairs tool spans with calls: by id, else by name and arguments, else by name in order, and a transfer with any transfer. */
  match(tools: readonly SpanNode[]): Map<SpanNode, Call | undefined> {
    const pairs = new Map<SpanNode, Call | undefined>(tools.map((tool) => [tool, undefined]));
    if (this.#all.calls.length === 0) {
      return pairs;
    }
    const rounds: ((tool: SpanNode) => Queue | undefined)[] = [
      ({ facts }) => (facts.toolCallId === undefined ? undefined : this.#byId.get(facts.toolCallId)),
      ({ facts }) => this.#byKey.get(callKey(facts.toolName ?? '', facts.toolArgs)),
      ({ facts }) => this.#byPlainKey.get(callKey(plainName(facts.toolName ?? ''), facts.toolArgs)),
      ({ facts }) => this.#byName.get(facts.toolName ?? ''),
      ({ facts, span }) => (HANDOFF.test(facts.toolName ?? span.name) ? this.#handoffs : undefined),
    ];
    for (const queueOf of rounds) {
      for (const tool of tools) {
        const call = pairs.get(tool) === undefined ? take(queueOf(tool)) : undefined;
        if (call !== undefined) {
          call.span = tool;
          pairs.set(tool, this.#identify(call, tool.facts.toolCallId));
        }
      }
    }
    return pairs;
  }
}

function push(queues: Map<string, Queue>, key: string, call: Call): void {
  const queue = queues.get(key);
  if (queue === undefined) {
    queues.set(key, { calls: [call], next: 0, open: 0 });
  } else {
    queue.calls.push(call);
  }
}

function firstUnnamed(queue: Queue | undefined): Call | undefined {
  if (queue === undefined) {
    return undefined;
  }
  while (queue.next < queue.calls.length) {
    const call = queue.calls[queue.next];
    if (call?.id === null) {
      return call;
    }
    queue.next++;
  }
  return undefined;
}

function settleFirst(queue: Queue | undefined, part: ResultPart): boolean {
  if (queue === undefined) {
    return false;
  }
  while (queue.open < queue.calls.length) {
    const call = queue.calls[queue.open];
    if (call?.state === 'call' || call?.vague === true) {
      settle(call, part);
      return true;
    }
    queue.open++;
  }
  return false;
}

function take(queue: Queue | undefined): Call | undefined {
  if (queue === undefined) {
    return undefined;
  }
  while (queue.next < queue.calls.length) {
    const call = queue.calls[queue.next++];
    if (call !== undefined && call.span === undefined) {
      return call;
    }
  }
  return undefined;
}
