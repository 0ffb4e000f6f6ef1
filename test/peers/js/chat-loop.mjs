import { getWeather, MODEL, SYSTEM, TOOL, TOOL_DESCRIPTION, TURN } from './story.mjs';

const TOOLS = [
  {
    type: 'function',
    function: {
      name: TOOL,
      description: TOOL_DESCRIPTION,
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];

/**
 * An agent without a framework: asks, calls the tool, asks again. `callTool` may wrap the call, for those who trace it;
 * returns the answer.
 */
export async function playWithChatClient(client, { callTool = async (args) => getWeather(args) } = {}) {
  const messages = [{ role: 'system', content: SYSTEM }, ...TURN];
  for (;;) {
    const { choices } = await client.chat.completions.create({ model: MODEL, messages, tools: TOOLS });
    const { message } = choices[0];
    if (message.tool_calls === undefined) {
      return message.content;
    }
    messages.push(message);
    for (const call of message.tool_calls) {
      const result = await callTool(JSON.parse(call.function.arguments));
      messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) });
    }
  }
}
