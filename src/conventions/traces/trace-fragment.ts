import { plainName } from '../assembly/call-index.ts';
import { messageKey, splitInput } from '../assembly/split-input.ts';
import { normaliseTrace } from '../normalise-trace.ts';
import type { NormalisedSpan, SpanFacts } from '../normalised-span.ts';
import { endUnixNano, type Span, type TraceData } from '../../domain/trace/span.ts';

/** Most spans of a fragment of a run; the emitter of a larger trace nests its spans. */
export const MAX_FRAGMENT_SPANS = 8;

/** A trace that may be one piece of a run whose emitter does not nest: one model call, one tool call, or one step. */
export interface Fragment {
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
export const NO_TURN = '[]';

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
  const normalised = normaliseTrace(trace).spans;
  const kind = readKind(normalised);
  const facts = findFacts(normalised, root, kind);
  if (kind === undefined || facts === undefined) {
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
export function isFinished(members: readonly Fragment[]): boolean {
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
