import { rolesOf } from '../attributes.ts';
import { field, type Fields, firstField, recordsIn } from '../json.ts';
import { callPart, isApproval, plainText } from './part-reader.ts';
import type { CallPart, NormalMessage, NormalPart } from '../normalised-span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Types of parts that end as the item of a hosted tool does. */
const PARTS = new Set(['tool_call', 'server_tool_call']);

/** Fields of a hosted tool's item that are no arguments. */
const NO_ARGUMENTS = new Set(['id', 'call_id', 'type', 'status', 'error']);
const RESULTS = ['results', 'outputs', 'output', 'result'];

/** Converts an item of OpenAI's Responses API that is no message (LiveKit has the same types). Undefined for any other value. */
export function fromResponseItem(item: Fields): Fields | undefined {
  const id = firstField(item, 'call_id', 'callId', 'id');
  const type = field(item, 'type');
  switch (type) {
    case 'function_call': {
      const [name, args] = [field(item, 'name'), firstField(item, 'arguments', 'args')];
      return { role: 'assistant', tool_calls: [{ id, function: { name, arguments: args } }] };
    }
    case 'function_call_output':
    case 'function_call_result': {
      const name = field(item, 'name');
      return { role: 'tool', tool_call_id: id, name, content: field(item, 'output') };
    }
    case 'reasoning': {
      const text = plainText(firstField(item, 'summary', 'content'));
      return field(item, 'summary') === undefined && field(item, 'encrypted_content') === undefined
        ? undefined
        : { role: 'assistant', content: [{ type: 'reasoning', content: text }] };
    }
    default:
      return typeof type === 'string' ? fromHostedItem(item, type) : fromBareCall(item);
  }
}

/** Converts a call without a type, as wrappers list what the model asked for. */
function fromBareCall(item: Fields): Fields | undefined {
  const name = firstField(item, 'tool.name', 'tool_name', 'toolName');
  const args = firstField(item, 'tool.args', 'tool_args', 'toolArgs', 'arguments', 'args');
  const call = { id: firstField(item, 'tool_call_id', 'toolCallId', 'id'), name, arguments: args };
  return typeof name === 'string' && args !== undefined
    ? { role: 'assistant', tool_calls: [call] }
    : undefined;
}

/** Converts a hosted tool's item: the provider's call, with its result. A `call_id` means the application's; lists and approvals become empty. */
function fromHostedItem(item: Fields, type: string): Fields | undefined {
  if (type === 'mcp_list_tools' || isApproval(item)) {
    return { role: 'assistant' };
  }
  const id = firstField(item, 'call_id', 'id');
  if (type.endsWith('_call_output') && Object.hasOwn(item, 'call_id')) {
    return { role: 'tool', tool_call_id: id, content: field(item, 'output') };
  }
  if (!type.endsWith('_call') || PARTS.has(type) || Object.hasOwn(item, 'toolCallId')) {
    return undefined;
  }
  const named = type === 'mcp_call' || type === 'custom_tool_call' ? field(item, 'name') : undefined;
  const name = named ?? type.slice(0, -'_call'.length);
  const call = {
    type: 'tool-call',
    toolCallId: id,
    toolName: name,
    args: firstField(item, 'arguments', 'input') ?? hostedArguments(item),
    providerExecuted: !Object.hasOwn(item, 'call_id'),
  };
  const error = firstField(item, 'error');
  const result = firstField(item, ...RESULTS);
  if (error !== undefined) {
    const failure = { type: 'tool-error', toolCallId: id, toolName: name, error };
    return { role: 'assistant', content: [call, failure] };
  }
  const outcome = { type: 'tool_call_response', id, name, response: result };
  return { role: 'assistant', content: result === undefined ? [call] : [call, outcome] };
}

function hostedArguments(item: Fields): Fields {
  return Object.fromEntries(
    Object.entries(item).filter(([key]) => !NO_ARGUMENTS.has(key) && !RESULTS.includes(key)),
  );
}

const TYPE_ROLES = rolesOf<NormalMessage['role']>({
  user: 'human HumanMessage',
  assistant: 'ai AIMessage AIMessageChunk',
  system: 'system SystemMessage',
  tool: 'tool ToolMessage',
});

/** Converts a LangChain message from any of its forms: `{type, data}`, `{lc, id: […, class], kwargs}`, flat `{type, content}`; else undefined. */
export function fromLangChain(value: Fields): Fields | undefined {
  const id = field(value, 'id');
  const className = Array.isArray(id) ? (id as unknown[]).at(-1) : undefined;
  const type = field(value, 'lc') === undefined ? field(value, 'type') : className;
  const role = typeof type === 'string' ? TYPE_ROLES.get(type) : undefined;
  const inner = firstField(value, 'data', 'kwargs');
  const holder = isRecord(inner) ? inner : value;
  if (role === undefined || !Object.hasOwn(holder, 'content')) {
    return undefined;
  }
  return {
    role,
    content: field(holder, 'content'),
    tool_calls: field(holder, 'tool_calls'),
    additional_kwargs: field(holder, 'additional_kwargs'),
    tool_call_id: field(holder, 'tool_call_id'),
    name: field(holder, 'name'),
    status: field(holder, 'status'),
  };
}

/** True for the model's node of LangGraph's ready-made agent: it is named `agent`, but the agent is the graph around it. */
export function isModelNode(spanName: string, node: unknown): boolean {
  return spanName === 'agent' && (node === 'agent' || node === '"agent"');
}

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
