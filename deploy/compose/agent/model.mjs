// A model that follows a script, with the interface of OpenAI's chat completions: it asks for the weather of the city in the last
// question, then says what the tool returned. It needs no key and costs nothing.
import { createServer } from 'node:http';

const { HOST = '127.0.0.1', PORT = '8080' } = process.env;
const CITIES = ['Lisbon', 'Oslo', 'Paris'];

/** Returns the message with which the model answers a conversation. */
function answer(messages) {
  const last = messages.at(-1);
  if (last.role === 'tool') {
    const { city, tempC, sky } = JSON.parse(readText(last.content));
    return { role: 'assistant', content: `In ${city} there is ${sky}, and it is ${tempC} degrees.` };
  }
  const question = readText(messages.findLast(({ role }) => role === 'user').content);
  const city = CITIES.find((name) => question.includes(name)) ?? CITIES[0];
  const call = { name: 'get_weather', arguments: JSON.stringify({ city }) };
  return {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: `call_${Date.now()}`, type: 'function', function: call }],
  };
}

/** Returns the text of a content, which is a text or a list of parts. */
function readText(content) {
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('');
}

async function readJson(request) {
  const chunks = [];
  for await (const chunk of request) {
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString());
}

async function reply(request, response) {
  try {
    const { model, messages } = await readJson(request);
    const message = answer(messages);
    const finish = message.content === null ? 'tool_calls' : 'stop';
    const completion = {
      id: `chatcmpl-${Date.now()}`,
      object: 'chat.completion',
      created: Math.floor(Date.now() / 1000),
      model,
      choices: [{ index: 0, message, finish_reason: finish }],
      usage: { prompt_tokens: 80, completion_tokens: 15, total_tokens: 95 },
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion));
  } catch (error) {
    const refusal = { error: { message: `the scripted model cannot answer this: ${error.message}` } };
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(refusal));
  }
}

const server = createServer((request, response) => void reply(request, response));
server.listen(Number(PORT), HOST, () => console.log(`model: http://${HOST}:${server.address().port}/v1`));
process.once('SIGTERM', () => server.close());
