import { field, type Fields, firstField, recordsIn } from '../json.ts';
import type { CallPart, NormalPart } from '../normalised-span.ts';
import { callPart } from './part-reader.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/**
 * Reads the parts of a message with its calls, which have up to three homes: `tool_calls`, LangChain's
 * `additional_kwargs.tool_calls`, and blocks of the content. Each call is read once, with the arguments of the first home that
 * has them. Calls of one home are different calls, also when they have one id; then the order tells which call of the next home
 * is the same.
 */
export function joinCalls(message: Fields, content: readonly NormalPart[]): NormalPart[] {
  const kwargs = field(message, 'additional_kwargs');
  const beside = [
    readCalls(field(message, 'tool_calls')),
    isRecord(kwargs) ? readCalls(field(kwargs, 'tool_calls')) : [],
  ];
  if (beside.flat().length === 0) {
    return [...content];
  }
  const byId = new Map<string, CallPart[]>();
  const calls: CallPart[] = [];
  /** Returns the call of an earlier home that each call of this home repeats, else the call itself. */
  const join = (home: readonly CallPart[]): CallPart[] => {
    const counts = new Map<string, number>();
    return home.map((call) => {
      const nth = counts.get(call.id ?? '') ?? 0;
      const same = (call.id === null ? undefined : byId.get(call.id)) ?? [];
      const known = same[nth];
      counts.set(call.id ?? '', nth + 1);
      if (known === undefined) {
        calls.push(call);
        same.push(call);
        byId.set(call.id ?? '', same);
        return call;
      }
      known.args = isEmpty(known.args) ? call.args : known.args;
      return known;
    });
  };
  beside.forEach(join);
  const placed = join(content.filter(isCall));
  const parts = content.map((part) => (isCall(part) ? (placed.shift() ?? part) : part));
  const inContent = new Set(parts);
  return [...parts, ...calls.filter((call) => !inContent.has(call))];
}

/** Reads OpenAI's `tool_calls`: nested under `function`, or flat. */
function readCalls(value: unknown): CallPart[] {
  const calls = recordsIn(value);
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
  const called = field(value, 'type') === 'function' ? field(value, 'function') : undefined;
  return (
    isRecord(value) &&
    isRecord(called) &&
    firstField(value, 'id', 'call_id') === undefined &&
    typeof field(called, 'name') === 'string' &&
    field(called, 'arguments') === undefined &&
    (Object.hasOwn(called, 'parameters') || Object.hasOwn(called, 'description'))
  );
}
