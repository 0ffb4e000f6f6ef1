import { describe, expect, it } from 'vitest';
import { normaliseSpan } from '../../../src/conventions/normalise-span.ts';
import { CONVENTIONS } from '../../../src/conventions/registry.ts';
import { chatMessage, buildSpan, toolCall } from '../../support/builders/spans.ts';

const text = (value: string) => [{ type: 'text', text: value }];

function read(...keys: readonly object[]) {
  const { facts, conventions } = normaliseSpan(buildSpan('s', Object.assign({}, ...keys)), []);
  return { facts, conventions: [...conventions.keys()] };
}

/** One span in the words of each convention, most specific first; what was said is under the last key. */
const ROWS: readonly (readonly [convention: string, keys: Record<string, unknown>])[] = [
  ['langfuse', { 'langfuse.observation.type': 'generation', 'langfuse.observation.output': 'by langfuse' }],
  ['claude-code', { 'span.type': 'claude_code.llm_request', 'response.model_output': 'by claude-code' }],
  ['mastra', { 'mastra.span.type': 'model_step', 'mastra.model_step.output': { text: 'by mastra' } }],
  [
    'genkit',
    { 'genkit:metadata:subtype': 'model', 'genkit:type': 'action', 'genkit:output': genkitOutput() },
  ],
  ['langsmith', { 'langsmith.span.kind': 'llm', 'gen_ai.completion': langsmithOutput() }],
  ['ai-sdk', { 'ai.operationId': 'ai.generateText.doGenerate', 'ai.response.text': 'by ai-sdk' }],
  [
    'otel-genai',
    {
      'gen_ai.operation.name': 'chat',
      'gen_ai.output.messages': [chatMessage('assistant', 'by otel-genai')],
    },
  ],
  [
    'openinference',
    { 'openinference.span.kind': 'LLM', 'llm.output_messages.0.message.content': 'by openinference' },
  ],
  [
    'traceloop-flattened',
    { 'llm.request.type': 'chat', 'gen_ai.completion.0.content': 'by traceloop-flattened' },
  ],
];

function genkitOutput(): unknown {
  return { message: { role: 'model', content: [{ text: 'by genkit' }] } };
}

function langsmithOutput(): unknown {
  return { role: 'assistant', content: 'by langsmith' };
}

const PAIRS = ROWS.flatMap(([first, keys], index) =>
  ROWS.slice(index + 1).map(([second, others]) => ({ first, keys, second, others })),
);

describe('a span that carries two conventions', () => {
  it.each(ROWS)('says the same by %s alone', (convention, keys) => {
    expect(read(keys).facts.output).toEqual(text(`by ${convention}`));
  });

  it.each(PAIRS)('is $first before it is $second', ({ first, keys, others }) => {
    expect(read(others, keys).facts.output).toEqual(text(`by ${first}`));
  });

  it.each(PAIRS)('takes from $second what $first leaves out', ({ keys, second, others }) => {
    const withoutContent = Object.fromEntries(Object.entries(keys).slice(0, -1));
    expect(read(others, withoutContent).facts.output).toEqual(text(`by ${second}`));
  });

  it('takes messages from the decoration when the native ones are an empty placeholder, and ids from the native attributes', () => {
    const { facts, conventions } = read({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'get',
      'gen_ai.tool.call.id': 'call_1',
      'openinference.span.kind': 'TOOL',
      'tool.name': 'get',
      'input.value': '{"a":1}',
      'output.value': '{"ok":true}',
    });
    expect(facts).toMatchObject({ toolCallId: 'call_1', toolArgs: { a: 1 }, toolResult: { ok: true } });
    expect(conventions).toEqual(['otel-genai', 'openinference']);
  });

  it('keeps the calls of the native messages although the decoration has a text', () => {
    const { facts } = read({
      'gen_ai.operation.name': 'chat',
      'gen_ai.output.messages': [chatMessage('assistant', toolCall('1', 'get', {}))],
      'openinference.span.kind': 'LLM',
      'llm.output_messages.0.message.content': 'Let me see.',
    });
    expect(facts.output).toEqual([{ type: 'tool-call', id: '1', name: 'get', args: {} }]);
  });
});

it('conventions are tried in order, the most specific first', () => {
  const order = [
    ['langfuse'],
    ['claude-code'],
    ['mastra'],
    ['pydantic-ai'],
    ['google-adk'],
    ['genkit'],
    ['livekit'],
    ['langsmith'],
    ['mlflow'],
    ['ai-sdk'],
    ['haystack', 'spring-ai', 'flue', 'voltagent', 'braintrust', 'laminar'],
    ['otel-genai'],
    ['otel-genai-events'],
    ['openinference'],
    ['traceloop-flattened'],
    ['otel-genai-content'],
  ];
  const places = order.map((row) => row.map((name) => CONVENTIONS.findIndex((one) => one.name === name)));
  expect(places.flat()).not.toContain(-1);
  places.slice(1).forEach((row, index) => {
    expect(Math.min(...row)).toBeGreaterThan(Math.max(...(places[index] ?? [])));
  });
});
