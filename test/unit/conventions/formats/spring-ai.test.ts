import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../../src/conventions/traces/read-traces.ts';
import type { LogRecord, Span } from '../../../../src/domain/trace/span.ts';
import { invocations, answerText, textOfMessage, onlyRun } from '../../../support/recordings/facts.ts';
import { buildLog, buildSpan, type SpanOptions, buildTrace } from '../../../support/builders/spans.ts';

const PACKAGE = 'org.springframework.ai.chat';

function chat(id: string, finish: string, usage: [number, number], options: SpanOptions): Span {
  return buildSpan(
    id,
    {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'm',
      'gen_ai.response.finish_reasons': [finish],
      'gen_ai.usage.input_tokens': usage[0],
      'gen_ai.usage.output_tokens': usage[1],
    },
    { scope: 'org.springframework.boot', ...options },
  );
}

function client(id: string, options: SpanOptions = {}): Span {
  return buildSpan(
    id,
    { 'gen_ai.operation.name': 'framework', 'spring.ai.kind': 'chat_client' },
    { scope: 'org.springframework.boot', lasts: 90, ...options },
  );
}

function tool(id: string, result: string, options: SpanOptions): Span {
  return buildSpan(
    id,
    {
      'gen_ai.operation.name': 'execute_tool',
      'spring.ai.kind': 'tool_call',
      'spring.ai.tool.definition.name': 'get_weather',
      'spring.ai.tool.call.arguments': { city: 'Paris' },
      'spring.ai.tool.call.result': result,
    },
    { scope: 'org.springframework.boot', ...options },
  );
}

function logged(span: string, handler: string, body: string): LogRecord {
  return { ...buildLog(span, '', {}), scopeName: `${PACKAGE}.${handler}`, body };
}

function prompt(span: string, body: string): LogRecord {
  return logged(span, 'observation.ChatModelPromptContentObservationHandler', body);
}

function completion(span: string, body: string): LogRecord {
  return logged(span, 'observation.ChatModelCompletionObservationHandler', body);
}

describe('Spring AI', () => {
  it('finds question and answer in logged texts without roles, and warns that the roles are a guess', () => {
    const run = onlyRun(
      [client('root'), chat('c', 'STOP', [5, 2], { parent: 'root', at: 1 })],
      [
        prompt('c', 'Chat Model Prompt Content:\n["Line one\nline "two"?"]'),
        completion('c', 'Chat Model Completion:\n["Yes."]'),
      ],
    );
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Line one\nline "two"?']);
    expect(run.input.systemMessages).toEqual([]);
    expect(answerText(run)).toBe('Yes.');
    expect(run.warnings.map(({ code }) => code)).toEqual(['roles_unknown']);
  });

  it('believes the roles of the client where Spring AI 1 logs them', () => {
    const run = onlyRun(
      [client('root'), chat('c', 'STOP', [5, 2], { parent: 'root', at: 1 })],
      [
        logged(
          'root',
          'client.observation.ChatClientPromptContentObservationHandler',
          'Chat Client Prompt Content:\n["system":"Be kind.", "user":"Rain, or "not"?"]',
        ),
        prompt('c', 'Chat Model Prompt Content:\n["Be kind.", "Rain, or "not"?"]'),
      ],
    );
    expect(run.input.systemMessages).toEqual([{ role: 'system', content: 'Be kind.' }]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Rain, or "not"?']);
  });

  it.each([
    ['3.5.9', 193],
    ['4.1.0', 274],
  ])('counts usage once where Spring Boot is %s', (version, inputTokens) => {
    const spans = [
      client('root'),
      chat('c1', 'TOOL_CALLS', [81, 17], { parent: 'root', at: 1 }),
      chat('c2', 'STOP', [193, 31], { parent: 'root', at: 40 }),
    ];
    const run = onlyRun(spans.map((span) => ({ ...span, scopeVersion: version })));
    expect(run.usage.inputTokens).toBe(inputTokens);
  });

  it('takes the two nested calls of a stream, which both tell the end, for one', () => {
    const run = onlyRun(
      [
        client('root'),
        chat('outer', 'STOP', [112, 14], { parent: 'root', at: 1, lasts: 50 }),
        chat('inner', 'STOP', [112, 14], { parent: 'outer', at: 20 }),
      ],
      ['outer', 'inner'].flatMap((span) => [
        prompt(span, 'Chat Model Prompt Content:\n["Weather?"]'),
        completion(span, 'Chat Model Completion:\n["Rain."]'),
      ]),
    );
    expect(run.usage.inputTokens).toBe(112);
    expect(run.output[0]?.content.parts).toEqual([{ type: 'text', text: 'Rain.' }]);
  });

  it('takes a tool result that is no JSON for the message of a failure', () => {
    const run = onlyRun([
      client('root'),
      tool('t1', '"sunny"', { parent: 'root', at: 1 }),
      tool('t2', 'service down', { parent: 'root', at: 20 }),
    ]);
    const calls = invocations(run);
    expect(calls).toMatchObject([
      { state: 'result', result: 'sunny', args: { city: 'Paris' } },
      { state: 'output-error', errorText: 'service down' },
    ]);
  });

  it('takes loading and searching a vector store for no run', () => {
    const spans = ['add', 'query'].map((operation) =>
      buildSpan(operation, { 'spring.ai.kind': 'vector_store', 'db.operation.name': operation }),
    );
    const { runs, notScorable, notUnderstood } = readTrace(buildTrace(spans));
    expect([runs, notUnderstood, notScorable?.code]).toEqual([[], [], 'no_agent_or_llm_span']);
  });
});
