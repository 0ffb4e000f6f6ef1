import { field, type Fields, firstField } from '../json.ts';
import { isApproval } from './otel-parts.ts';
import { plainText } from './part-reader.ts';

/** Types of parts that end as the item of a hosted tool does. */
const PARTS = new Set(['tool_call', 'server_tool_call']);

/** Fields of a hosted tool's item that are no arguments. */
const NO_ARGUMENTS = new Set(['id', 'call_id', 'type', 'status', 'error']);
const RESULTS = ['results', 'outputs', 'output', 'result'];

/**
 * Converts an item of OpenAI's Responses API that is no message to the message with the same meaning (LiveKit's chat context
 * has the same types). Undefined for any other value.
 */
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

/**
 * Converts the item of a hosted tool: a call that the provider ran, with its result when the item has one. An item with a
 * `call_id` is a call that the application runs. Lists of tools and requests for an approval become messages without content.
 */
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
