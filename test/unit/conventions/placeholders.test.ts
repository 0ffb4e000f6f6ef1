import { describe, expect, it } from 'vitest';
import { normaliseSpan } from '../../../src/conventions/normalise-span.ts';
import type { Span } from '../../../src/domain/trace/span.ts';
import { invocations, answerText, textOfMessage, onlyRun } from '../../support/recordings/facts.ts';
import {
  agentSpan,
  chatSpan,
  chatMessage,
  buildSpan,
  toolCall,
  toolSpan,
} from '../../support/builders/spans.ts';

const QUESTION = chatMessage('user', 'Weather?');

function openinference(attributes: Record<string, unknown>): Span {
  return buildSpan('c', {
    'openinference.span.kind': 'LLM',
    'llm.model_name': 'm',
    'llm.token_count.prompt': 5,
    'llm.input_messages.0.message.role': 'user',
    ...attributes,
  });
}

describe('a placeholder in place of content', () => {
  it.each(['__REDACTED__', '<REDACTED>', '[REDACTED]', 'redacted', '***', "[Scrubbed due to 'password']"])(
    'is no answer: %s',
    (placeholder) => {
      const run = onlyRun([chatSpan('c', { input: QUESTION, output: placeholder })]);
      expect(run).toMatchObject({ scorable: false, notScorable: { code: 'redacted' } });
      expect(answerText(run)).toBe('');
    },
  );

  it('is no answer, and the switch that hides outputs only is named', () => {
    const run = onlyRun([
      openinference({ 'llm.input_messages.0.message.content': 'Hi', 'output.value': '__REDACTED__' }),
    ]);
    expect(run.notScorable).toEqual({
      code: 'redacted',
      detail: expect.stringMatching(/^the answer is a placeholder; .*OPENINFERENCE_HIDE_OUTPUTS/) as string,
    });
  });

  it('is no question, but the answer can be scored, with a warning', () => {
    const run = onlyRun([
      openinference({
        'llm.input_messages.0.message.content': '__REDACTED__',
        'llm.output_messages.0.message.content': 'Rain.',
      }),
    ]);
    expect(run.scorable).toBe(true);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual([]);
    expect(run.warnings).toEqual([
      {
        code: 'redacted',
        spanId: run.target.spanId,
        detail: expect.stringMatching(/in place of input; .*OPENINFERENCE_HIDE_INPUTS/) as string,
      },
    ]);
  });

  it('is neither evidence nor arguments, but its tool call still counts', () => {
    const run = onlyRun([
      agentSpan('a', {}, { lasts: 90 }),
      chatSpan(
        'c1',
        { input: QUESTION, output: toolCall('1', 'get', '__REDACTED__') },
        { parent: 'a', at: 1 },
      ),
      toolSpan('t', { id: '1', name: 'get', result: '__REDACTED__' }, { parent: 'a', at: 20 }),
      chatSpan('c2', { input: QUESTION, output: 'Rain.' }, { parent: 'a', at: 40 }),
    ]);
    expect(run).toMatchObject({ scorable: true, context: [] });
    expect(invocations(run)).toMatchObject([{ toolName: 'get', state: 'call' }]);
  });

  it('is no document and no system text', () => {
    const run = onlyRun([
      agentSpan('a', { 'gen_ai.system_instructions': '__REDACTED__' }, { lasts: 90 }),
      buildSpan(
        'r',
        { 'openinference.span.kind': 'RETRIEVER', 'retrieval.documents.0.document.content': '__REDACTED__' },
        { parent: 'a', at: 1 },
      ),
      chatSpan('c', { input: QUESTION, output: 'Rain.' }, { parent: 'a', at: 20 }),
    ]);
    expect(run).toMatchObject({ documents: [], context: [], input: { systemMessages: [] } });
  });

  it('is replaced by the text of another convention on the same span, without a warning', () => {
    const { facts, warnings } = normaliseSpan(
      buildSpan('c', {
        'gen_ai.operation.name': 'chat',
        'gen_ai.output.messages': [chatMessage('assistant', '<REDACTED>')],
        'openinference.span.kind': 'LLM',
        'llm.output_messages.0.message.content': 'Rain.',
      }),
      [],
    );
    expect(facts.output).toEqual([{ type: 'text', text: 'Rain.' }]);
    expect(warnings).toEqual([]);
  });

  it('of content that was not captured says so', () => {
    const run = onlyRun([chatSpan('c', { input: QUESTION, output: 'HIDDEN:non-empty' })]);
    expect(run.notScorable?.code).toBe('no_content_captured');
  });

  it('is the whole text: a text that only contains the word is content', () => {
    const answer = 'The name was [REDACTED] in the file, and *** stands for it.';
    const run = onlyRun([chatSpan('c', { input: QUESTION, output: answer })]);
    expect([run.scorable, answerText(run), run.warnings]).toEqual([true, answer, []]);
  });
});

describe('content that is elsewhere or cut off', () => {
  it('by reference is reported with the setting that stores it elsewhere, and the setting that captures it', () => {
    const { notScorable } = onlyRun([
      chatSpan(
        'c',
        { attributes: { 'gen_ai.input.messages_ref': 's3://x' } },
        { scope: 'opentelemetry.util.genai.handler' },
      ),
    ]);
    expect(notScorable?.code).toBe('content_by_reference');
    expect(notScorable?.detail).toMatch(
      /OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK.*OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT/,
    );
  });

  it('cut or dropped by the SDK is reported with the limit to raise', () => {
    const span = chatSpan(
      'c',
      { output: 'Rain.', attributes: { 'gen_ai.input.messages': '[{"role":"user","content":"Wea' } },
      { dropped: 3 },
    );
    expect(onlyRun([span]).warnings.map(({ detail }) => detail)).toEqual([
      expect.stringContaining('OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'),
      expect.stringContaining('OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT'),
    ]);
  });
});

describe('content that an emitter hides or cuts in its own way', () => {
  it('is read as far as it goes, with a warning, where Gemini CLI cut it off', () => {
    const input = '[{"role":"user","parts":[{"text":"Where is P...[TRUNCATED: original length 12000]';
    const run = onlyRun([
      buildSpan(
        'c1',
        {
          'gen_ai.operation.name': 'llm_call',
          'gen_ai.input.messages': input,
          'gen_ai.output.messages': { role: 'model', parts: [{ text: 'In Hamburg.' }] },
        },
        { scope: 'gemini-cli' },
      ),
    ]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Where is P']);
    expect(run.warnings).toMatchObject([
      { code: 'truncated', detail: expect.stringContaining('cut off by its emitter') },
    ]);
  });

  it('is a placeholder where OpenTelemetry’s OpenAI Agents put a word in its place', () => {
    const options = { scope: 'opentelemetry.instrumentation.openai_agents' };
    const { notScorable } = onlyRun([chatSpan('c1', { input: 'readacted', output: 'readacted' }, options)]);
    expect(notScorable?.code).toBe('redacted');
    expect(notScorable?.detail).toContain('OTEL_INSTRUMENTATION_OPENAI_AGENTS_CAPTURE_CONTENT');
  });

  it('is known by the classes of Haystack’s components when it is not traced', () => {
    const component = (id: string, type: string, at: number) =>
      buildSpan(
        id,
        { 'haystack.component.type': type },
        { scope: 'haystack', name: 'haystack.component.run', parent: 'agent', at },
      );
    const { notScorable } = onlyRun([
      buildSpan(
        'agent',
        { 'haystack.agent.max_steps': 9 },
        { scope: 'haystack', name: 'haystack.agent.run', lasts: 90 },
      ),
      component('llm', 'OpenAIChatGenerator', 1),
      component('find', 'InMemoryBM25Retriever', 20),
    ]);
    expect(notScorable?.code).toBe('no_content_captured');
    expect(notScorable?.detail).toContain('HAYSTACK_CONTENT_TRACING_ENABLED=true');
  });
});
