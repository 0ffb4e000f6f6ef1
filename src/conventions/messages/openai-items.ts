import { field, type Fields, firstField } from '../json.ts';
import { plainText } from './part-reader.ts';

/**
 * Converts an item of OpenAI's Responses API that is no message to the message with the same meaning (LiveKit's chat context
 * has the same types). Undefined for any other value.
 */
export function fromResponseItem(item: Fields): Fields | undefined {
  const id = firstField(item, 'call_id', 'callId', 'id');
  switch (field(item, 'type')) {
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
      return undefined;
  }
}
