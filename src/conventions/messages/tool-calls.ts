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
  const calls: CallPart[] = [];
  for (const call of [...beside, ...content.filter(isCall)]) {
    const known = calls.find((one) => isSameCall(one, call));
    if (known === undefined) {
      calls.push({ ...call });
    } else if (isEmpty(known.args)) {
      known.args = call.args;
    }
  }
  const placed = content.map((part) =>
    isCall(part) ? (calls.find((call) => isSameCall(call, part)) ?? part) : part,
  );
  return [...placed, ...calls.filter((call) => !placed.includes(call))];
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

function isSameCall(a: CallPart, b: CallPart): boolean {
  return a.id !== null && a.id === b.id;
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
