import { field, type Fields, firstField } from '../json.ts';
import type { CallPart, NormalPart } from '../normalised-span.ts';
import { callPart } from './part-reader.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/**
 * Reads the parts of a message with its calls, which have up to three homes: `tool_calls`, LangChain's
 * `additional_kwargs.tool_calls`, and blocks of the content. Each call is read once, with the arguments of the first home that
 * has them.
 */
export function joinCalls(message: Fields, content: readonly NormalPart[]): NormalPart[] {
  const kwargs = field(message, 'additional_kwargs');
  const homes = [
    readCalls(field(message, 'tool_calls')),
    isRecord(kwargs) ? readCalls(field(kwargs, 'tool_calls')) : [],
  ];
  const beside = homes.flat();
  if (beside.length === 0) {
    return [...content];
  }
  const byId = new Map<string, CallPart>();
  const calls = [...beside, ...content.filter(isCall)].filter((call) => {
    const known = call.id === null ? undefined : byId.get(call.id);
    if (known !== undefined && isEmpty(known.args)) {
      known.args = call.args;
    }
    if (known === undefined && call.id !== null) {
      byId.set(call.id, call);
    }
    return known === undefined;
  });
  const placed = content.map((part) => (isCall(part) ? (byId.get(part.id ?? '') ?? part) : part));
  const inContent = new Set(placed);
  return [...placed, ...calls.filter((call) => !inContent.has(call))];
}

/** Reads OpenAI's `tool_calls`: nested under `function`, or flat. */
function readCalls(value: unknown): CallPart[] {
  const calls = Array.isArray(value) ? value.filter(isRecord) : [];
  return calls.map((call) => {
    const inner = field(call, 'function');
    const called = isRecord(inner) ? inner : call;
    const args = firstField(called, 'arguments', 'args', 'input');
    return callPart({ id: field(call, 'id'), name: field(called, 'name'), args });
  });
}

function isCall(part: NormalPart): part is CallPart {
  return part.type === 'tool-call';
}

function isEmpty(args: unknown): boolean {
  return (
    args === undefined || args === null || args === '' || (isRecord(args) && Object.keys(args).length === 0)
  );
}

/** True for the definition of a tool, which some emitters put among the messages. */
export function isDefinition(value: unknown): boolean {
  const called =
    isRecord(value) && field(value, 'type') === 'function' ? field(value, 'function') : undefined;
  return (
    isRecord(value) &&
    isRecord(called) &&
    firstField(value, 'id', 'call_id') === undefined &&
    typeof field(called, 'name') === 'string' &&
    field(called, 'arguments') === undefined &&
    (Object.hasOwn(called, 'parameters') || Object.hasOwn(called, 'description'))
  );
}
