import {
  type LogRecord,
  type Span,
  type TraceData,
  endUnixNano,
  type JoinedTrace,
} from '../../domain/trace/span.ts';
import { plainName } from '../assembly/call-index.ts';
import { messageKey, splitInput } from '../assembly/run-plan.ts';
import { keepForReading, normaliseTrace } from '../normalise-trace.ts';
import type { NormalisedSpan, SpanFacts } from '../normalised-span.ts';

/** Most candidates for one question that a fragment is compared with; older ones are ignored. */
const MAX_CANDIDATES = 64;

/**
 * Joins traces of emitters that do not nest: there each model call, tool and step is a trace of its own. Traces of one service
 * are joined where they show that they are one run: by the id of a tool call, by a conversation that continues after a tool
 * call, by a session in which only one call waits for such a tool, or by a step around them with the same question. A trace
 * that could belong to more than one run stays alone. A step becomes the parent of the traces inside it. The joined trace has
 * the id of that step's trace, else of its earliest trace, and takes its place in the order. The order of the given traces does
 * not matter.
 */
export function joinTraces(traces: readonly TraceData[]): JoinedTrace[] {
  const fragments = traces.flatMap((trace) => findFragment(trace) ?? []);
  fragments.sort(byStart);
  const groups = new Groups();
  joinCalls(fragments, groups);
  joinSteps(fragments, groups);
  const joined = groups.joined();
  const alone = new Map(fragments.map((fragment) => [fragment.trace, isFinished([fragment])]));
  return traces.flatMap((trace) => {
    const whole = joined.get(trace);
    const single = { data: trace, members: [trace], finished: alone.get(trace) ?? true };
    return whole ?? (groups.isTaken(trace) ? [] : [single]);
  });
}

/** Joins tools with the calls that requested them, and calls with the calls that they continue. */
function joinCalls(fragments: readonly Fragment[], groups: Groups): void {
  const asking = new OpenCalls();
  const byTurn = new Map<string, Fragment[]>();
  for (const fragment of fragments) {
    const { service, kind } = fragment;
    if (kind === 'tool') {
      groups.join(asking.onlyOne(fragment) ?? asking.waitingForTool(fragment), fragment);
    } else if (kind === 'call') {
      const turn = `${service} ${fragment.turn}`;
      const earlier = byTurn.get(turn) ?? [];
      const before =
        asking.answeredBy(fragment) ??
        earlier.findLast((one) => isContinuation(one, fragment)) ??
        asking.waitingForResults(fragment);
      asking.settle(before);
      groups.join(before, fragment);
      byTurn.set(turn, [...earlier.filter((one) => one !== before).slice(1 - MAX_CANDIDATES), fragment]);
      asking.add(fragment);
    }
  }
}

/** Calls that requested tools and whose results were not seen yet, by the ids of the tool calls; ids may repeat. */
class OpenCalls {
  readonly #byId = new Map<string, Fragment[]>();
  /** Fragments with a session, by session. */
  readonly #bySession = new Map<string, Fragment[]>();

  add(call: Fragment): void {
    if (call.session !== undefined && call.askedNames.length > 0) {
      const key = sessionKey(call);
      this.#bySession.set(key, [...(this.#bySession.get(key) ?? []).slice(1 - MAX_CANDIDATES), call]);
    }
    for (const id of call.askedIds) {
      const key = `${call.service} ${id}`;
      this.#byId.set(key, [...(this.#byId.get(key) ?? []).slice(1 - MAX_CANDIDATES), call]);
    }
  }

  /** Finds the call that requested a tool by its id; undefined when several did and their sessions do not show which. */
  onlyOne(tool: Fragment): Fragment | undefined {
    const asked = this.#byId.get(`${tool.service} ${tool.toolCallId}`) ?? [];
    const possible = asked.filter((call) => sameSession(call, tool));
    const same = possible.filter((call) => call.session !== undefined && call.session === tool.session);
    return singleElement(possible) ?? singleElement(same);
  }

  /** Finds the only call in a tool's session that waits for a tool of its name; for tools without an id. */
  waitingForTool(tool: Fragment): Fragment | undefined {
    return tool.toolCallId === undefined
      ? this.#waiting(tool, (call) => call.askedNames.some((name) => name === tool.toolName))
      : undefined;
  }

  /** Finds the only waiting call in the session and turn of a later call; for results whose ids differ from the calls'. */
  waitingForResults(later: Fragment): Fragment | undefined {
    return later.inFlight ? this.#waiting(later, (call) => repeats(call, later)) : undefined;
  }

  #waiting(later: Fragment, fits: (call: Fragment) => boolean): Fragment | undefined {
    if (later.session === undefined) {
      return undefined;
    }
    const waiting = this.#bySession.get(sessionKey(later)) ?? [];
    return singleElement(waiting.filter((call) => call.endUnixNano <= later.startUnixNano && fits(call)));
  }

  settle(call: Fragment | undefined): void {
    const key = call && sessionKey(call);
    const waiting = key === undefined ? undefined : this.#bySession.get(key);
    if (key !== undefined && waiting !== undefined) {
      const left = waiting.filter((one) => one !== call);
      this.#bySession.set(key, left);
    }
  }

  /** Finds and settles the latest call of the conversation whose tool results a later call received. */
  answeredBy(later: Fragment): Fragment | undefined {
    let found: Fragment | undefined;
    for (const id of later.answeredIds) {
      const key = `${later.service} ${id}`;
      const asked = this.#byId.get(key) ?? [];
      const one = asked.findLast((earlier) => sameTurn(earlier, later) && sameSession(earlier, later));
      if (one !== undefined) {
        found ??= one;
        this.#byId.set(
          key,
          asked.filter((other) => other !== one),
        );
      }
    }
    return found;
  }
}

function singleElement<T>(found: readonly T[]): T | undefined {
  return found.length === 1 ? found[0] : undefined;
}

function sessionKey({ service, session }: Fragment): string {
  return JSON.stringify([service, session]);
}

/** True for calls of the same turn. A call that received only results (the provider stores the rest) shows no turn. */
function sameTurn(earlier: Fragment, later: Fragment): boolean {
  return earlier.turn === later.turn || earlier.turn === NO_TURN || later.turn === NO_TURN;
}

/** True when a call repeats an earlier call's input and adds to it, and the earlier call can have requested a tool. */
function isContinuation(earlier: Fragment, later: Fragment): boolean {
  return (
    !earlier.answered &&
    earlier.askedIds.length === 0 &&
    later.inFlight &&
    earlier.endUnixNano <= later.startUnixNano &&
    sameSession(earlier, later) &&
    repeats(earlier, later)
  );
}

function repeats(earlier: Fragment, later: Fragment): boolean {
  return earlier.turn === later.turn && earlier.keys.every((key, index) => later.keys[index] === key);
}

function sameSession(a: Fragment, b: Fragment): boolean {
  return a.session === undefined || b.session === undefined || a.session === b.session;
}

/** Joins a step with the fragments within its time that answer the same question, unless another step could contain them. */
function joinSteps(fragments: readonly Fragment[], groups: Groups): void {
  const outermost = new Map<string, Fragment[]>();
  const add = (key: string, step: Fragment): void => {
    outermost.set(key, [...(outermost.get(key) ?? []).slice(1 - MAX_CANDIDATES), step]);
  };
  const enclosing = (key: string, fragment: Fragment): Fragment | undefined => {
    return singleElement((outermost.get(key) ?? []).filter((step) => encloses(step, fragment)));
  };
  const steps = fragments.filter((fragment) => fragment.kind === 'step');
  const widestFirst = steps.toSorted(
    (a, b) => Number(a.startUnixNano - b.startUnixNano) || Number(b.endUnixNano - a.endUnixNano),
  );
  for (const step of widestFirst) {
    const turn = `${step.service} ${step.turn}`;
    const outer = enclosing(turn, step);
    if (outer !== undefined) {
      groups.put(outer, step);
    } else if (step.answered && step.turn !== NO_TURN) {
      add(turn, step);
      add(step.service, step);
    }
  }
  for (const fragment of fragments) {
    const key = fragment.kind === 'tool' ? fragment.service : `${fragment.service} ${fragment.turn}`;
    const step = fragment.kind === 'step' ? undefined : enclosing(key, fragment);
    if (step !== undefined) {
      groups.put(step, fragment);
    }
  }
}

function encloses(step: Fragment, fragment: Fragment): boolean {
  return (
    step !== fragment &&
    step.startUnixNano <= fragment.startUnixNano &&
    step.endUnixNano >= fragment.endUnixNano &&
    sameSession(step, fragment)
  );
}

/** Groups of fragments; each group is one run. */
class Groups {
  readonly #groups = new Map<Fragment, Set<Fragment>>();
  readonly #steps = new Map<Fragment, Fragment>();
  readonly #taken = new Set<TraceData>();

  join(a: Fragment | undefined, b: Fragment): void {
    if (a === undefined || a === b) {
      return;
    }
    const [one, other] = [this.#groups.get(a) ?? new Set([a]), this.#groups.get(b) ?? new Set([b])];
    const [large, small] = one.size >= other.size ? [one, other] : [other, one];
    for (const fragment of small) {
      large.add(fragment);
      this.#groups.set(fragment, large);
    }
    large.forEach((fragment) => this.#groups.get(fragment) ?? this.#groups.set(fragment, large));
  }

  put(step: Fragment, fragment: Fragment): void {
    this.#steps.set(fragment, step);
    this.join(step, fragment);
  }

  /** Returns the joined traces, each under the trace whose place it takes. */
  joined(): Map<TraceData, JoinedTrace> {
    const joined = new Map<TraceData, JoinedTrace>();
    for (const group of new Set(this.#groups.values())) {
      const members = [...group].toSorted(byStart);
      const steps = new Set(members.flatMap((member) => this.#steps.get(member) ?? []));
      if (steps.size > 1 || isAmbiguous(members)) {
        continue;
      }
      const [step] = steps;
      const head = step ?? members[0];
      if (head === undefined) {
        continue;
      }
      members.forEach(({ trace }) => this.#taken.add(trace));
      joined.set(head.trace, {
        data: merge(head.trace, members, step),
        members: members.map(({ trace }) => trace),
        finished: isFinished(members),
      });
    }
    return joined;
  }

  isTaken(trace: TraceData): boolean {
    return this.#taken.has(trace);
  }
}

/** True when two calls begin the same conversation: then two runs happened at the same time. */
function isAmbiguous(members: readonly Fragment[]): boolean {
  const first = members.filter((member) => member.kind === 'call' && !member.inFlight);
  return new Set(first.map((member) => JSON.stringify(member.keys))).size < first.length;
}

function byStart(a: Fragment, b: Fragment): number {
  return Number(a.startUnixNano - b.startUnixNano) || (a.trace.traceId < b.trace.traceId ? -1 : 1);
}

function merge(head: TraceData, members: readonly Fragment[], step: Fragment | undefined): TraceData {
  const { traceId } = head;
  const parent = step?.root.spanId ?? '';
  const adopt = (span: Span): Span => {
    const isTop = span.parentSpanId === '' && span.spanId !== parent;
    return { ...span, traceId, parentSpanId: isTop ? parent : span.parentSpanId };
  };
  const adoptLog = (log: LogRecord): LogRecord => ({ ...log, traceId });
  return {
    ...head,
    spans: members.flatMap(({ trace }) => trace.spans.map(adopt)),
    logs: members.flatMap(({ trace }) => trace.logs.map(adoptLog)),
  };
}

/** Most spans of a fragment of a run; the emitter of a larger trace nests its spans. */
export const MAX_FRAGMENT_SPANS = 8;

/** A trace that may be one piece of a run whose emitter does not nest: one model call, one tool call, or one step. */
interface Fragment {
  trace: TraceData;
  root: Span;
  kind: 'call' | 'tool' | 'step';
  service: string;
  session: string | undefined;
  startUnixNano: bigint;
  endUnixNano: bigint;
  /** Keys of its input messages, and the key of its turn. */
  keys: string[];
  turn: string;
  /** True when its input continues after a tool call of this turn. */
  inFlight: boolean;
  /** True when it gave an answer. */
  answered: boolean;
  /** Ids of the tool calls that it requested, and of the calls whose results it received. */
  askedIds: string[];
  answeredIds: string[];
  toolCallId: string | undefined;
  /** Normalised names of the tools that it requested, and of the tool that it is. */
  askedNames: string[];
  toolName: string | undefined;
}

/** Turn of an input without a user message. */
const NO_TURN = '[]';

/** Cached, because a trace is compared with every other trace that may belong to its run. */
const known = new WeakMap<TraceData, { fragment: Fragment | undefined }>();

/** Reads the trace as a fragment; undefined when it is a whole run, or no part of any. */
export function findFragment(trace: TraceData): Fragment | undefined {
  if (trace.spans.length > MAX_FRAGMENT_SPANS || trace.omittedSpans !== undefined) {
    return undefined;
  }
  const found = known.get(trace) ?? { fragment: readFragment(trace) };
  known.set(trace, found);
  return found.fragment;
}

function readFragment(trace: TraceData): Fragment | undefined {
  const roots = trace.spans.filter((span) => span.parentSpanId === '');
  const [root] = roots;
  if (root === undefined || roots.length !== 1) {
    return undefined;
  }
  const read = normaliseTrace(trace);
  const normalised = read.spans;
  const kind = readKind(normalised);
  const facts = findFacts(normalised, root, kind);
  if (kind === undefined || facts === undefined) {
    // It is a run by itself, so it is read next.
    keepForReading(trace, read);
    return undefined;
  }
  const split = splitInput(facts.input);
  const output = facts.output ?? [];
  const given = split.inFlight.flatMap((message) => message.parts);
  return {
    trace,
    root,
    kind,
    service: root.serviceName,
    session: facts.session,
    startUnixNano: root.startUnixNano,
    endUnixNano: endUnixNano(root),
    keys: (facts.input ?? []).map(messageKey),
    turn: JSON.stringify(split.turn.map(messageKey)),
    inFlight: split.inFlight.length > 0,
    answered: output.some((part) => part.type === 'text'),
    askedIds: output.flatMap((part) => (part.type === 'tool-call' && part.id !== null ? [part.id] : [])),
    answeredIds: given.flatMap((part) => (part.type === 'tool-result' && part.id !== null ? [part.id] : [])),
    toolCallId: facts.toolCallId,
    askedNames: output.flatMap((part) => (part.type === 'tool-call' ? [plainName(part.name)] : [])),
    toolName: facts.toolName === undefined ? undefined : plainName(facts.toolName),
  };
}

/** True when other traces may contain the rest of its run: it requested a tool, follows one, is a tool, or is a step. */
export function isOpen(fragment: Fragment): boolean {
  const { kind, answered, inFlight, keys, askedIds, toolCallId, session } = fragment;
  if (kind === 'call') {
    return (inFlight || !answered) && keys.length + askedIds.length > 0;
  }
  return kind === 'step' || toolCallId !== undefined || session !== undefined;
}

/** True when the fragments of a run show its end: their last model call, or a step around them, gave an answer. */
function isFinished(members: readonly Fragment[]): boolean {
  const calls = members.filter((member) => member.kind === 'call');
  const last = calls.reduce<Fragment | undefined>(
    (latest, call) => (latest !== undefined && latest.startUnixNano > call.startUnixNano ? latest : call),
    undefined,
  );
  const isAnswered = last !== undefined && (last.answered || !isOpen(last));
  return isAnswered || members.some((member) => member.kind === 'step' && member.answered);
}

/** Finds the kind of a trace: one model call, one tool call, or neither. Agents, and several of either, are runs already. */
function readKind(normalised: readonly NormalisedSpan[]): Fragment['kind'] | undefined {
  const count = (role: SpanFacts['role']): number =>
    normalised.filter(({ facts }) => facts.role === role).length;
  const [calls, tools] = [count('llm'), count('tool')];
  if (count('agent') + count('workflow') + count('evaluation') > 0 || calls + tools > 1) {
    return undefined;
  }
  if (calls + tools === 0) {
    return count('container') > 0 ? 'step' : undefined;
  }
  return calls === 1 ? 'call' : 'tool';
}

function findFacts(
  normalised: readonly NormalisedSpan[],
  root: Span,
  kind: Fragment['kind'] | undefined,
): SpanFacts | undefined {
  const role = kind === 'call' ? 'llm' : kind;
  return kind === 'step'
    ? normalised.find(({ span }) => span === root)?.facts
    : normalised.find(({ facts }) => facts.role === role)?.facts;
}
