import { describe, expect, it } from 'vitest';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import type { LogRecord } from '../../../src/domain/trace/span.ts';
import {
  buildLog,
  buildSpan,
  chatMessage,
  chatSpan,
  toolCall,
  toolSpan,
} from '../../support/builders/spans.ts';
import {
  invocations,
  answerText,
  invocationParts,
  textOfMessage,
  onlyRun,
} from '../../support/recordings/facts.ts';

type Moved = readonly [role: string, content: unknown];

/** Builds the record of AWS's distribution with what it moved from a span of this scope. */
function buildMoved(
  span: string,
  scope: string,
  input: readonly Moved[],
  output: readonly Moved[],
): LogRecord {
  const list = (side: readonly Moved[]) => ({ messages: side.map(([role, content]) => ({ role, content })) });
  const body = JSON.stringify({ input: list(input), output: list(output) });
  return { ...buildLog(span, scope, {}), scopeName: scope, body };
}

/** Reads one model call of this scope whose content was moved. */
function readMoved(
  attributes: Record<string, unknown>,
  scope: string,
  input: readonly Moved[],
  output: readonly Moved[],
): AgentRun {
  return onlyRun([buildSpan('c1', attributes, { scope })], [buildMoved('c1', scope, input, output)]);
}

const CHAT = { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'm' };
const QUESTION = chatMessage('user', 'Weather?');

describe('content that AWS’s distribution moved to a log record', () => {
  it('goes back under OpenTelemetry’s attributes, whatever the scope is', () => {
    const scope = 'my.own.instrumentation';
    const run = readMoved(
      CHAT,
      scope,
      [
        ['user', JSON.stringify([QUESTION])],
        ['system', JSON.stringify([{ type: 'text', content: 'Be kind.' }])],
      ],
      [['assistant', JSON.stringify([chatMessage('assistant', 'Rain.')])]],
    );
    expect(run.input.systemMessages.map(({ content }) => content)).toEqual(['Be kind.']);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(answerText(run)).toBe('Rain.');
  });

  it('goes back to OpenInference’s messages in the roles that stayed on the span', () => {
    const scope = 'openinference.instrumentation.openai';
    const attributes = {
      'openinference.span.kind': 'LLM',
      'llm.input_messages.0.message.role': 'system',
      'llm.input_messages.1.message.role': 'user',
      'llm.input_messages.2.message.role': 'assistant',
      'llm.input_messages.2.message.tool_calls.0.tool_call.id': '1',
      'llm.input_messages.2.message.tool_calls.0.tool_call.function.name': 'get',
      'llm.input_messages.2.message.tool_calls.0.tool_call.function.arguments': { a: 1 },
      'llm.input_messages.3.message.role': 'tool',
      'llm.input_messages.3.message.tool_call_id': '1',
      'llm.output_messages.0.message.role': 'assistant',
    };
    const run = readMoved(
      attributes,
      scope,
      [
        ['user', 'Be kind.'],
        ['user', 'Weather?'],
        ['user', 'sunny'],
      ],
      [['assistant', 'Sun.']],
    );
    expect(run.input.systemMessages.map(({ content }) => content)).toEqual(['Be kind.']);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(invocations(run)).toMatchObject([{ toolName: 'get', args: { a: 1 }, result: 'sunny' }]);
    expect(answerText(run)).toBe('Sun.');
  });

  it('is left out where texts and roles of OpenInference do not fit together', () => {
    const scope = 'openinference.instrumentation.openai';
    const attributes = {
      'openinference.span.kind': 'LLM',
      'llm.input_messages.0.message.role': 'system',
      'llm.output_messages.0.message.role': 'assistant',
    };
    const run = readMoved(
      attributes,
      scope,
      [
        ['user', 'Be kind.'],
        ['user', 'Weather?'],
      ],
      [['assistant', 'Sun.']],
    );
    expect(run.input.systemMessages).toEqual([]);
    expect(run.input.inputMessages).toEqual([]);
  });

  it('never replaces an attribute that is still on the span', () => {
    const scope = 'opentelemetry.instrumentation.x';
    const run = onlyRun(
      [buildSpan('c1', { ...CHAT, 'gen_ai.input.messages': [QUESTION] }, { scope })],
      [
        buildMoved(
          'c1',
          scope,
          [['user', JSON.stringify([chatMessage('user', 'Another?')])]],
          [['assistant', JSON.stringify([chatMessage('assistant', 'Rain.')])]],
        ),
      ],
    );
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
  });

  it('is nothing in a record of another form', () => {
    const scope = 'opentelemetry.instrumentation.x';
    const span = chatSpan('c1', { input: QUESTION, output: 'Rain.' });
    const record = { ...buildLog('c1', scope, {}), scopeName: scope };
    for (const body of ['', 'text', '[]', '{"input":[]}', '{"input":{"messages":[1,{}]}}']) {
      expect(answerText(onlyRun([span], [{ ...record, body }]))).toBe('Rain.');
    }
  });
});

describe('a tool’s message that Python printed without its class', () => {
  const run = (result: string): AgentRun =>
    onlyRun([
      chatSpan('c1', { input: QUESTION, output: toolCall('1', 'get', { a: 1 }) }),
      toolSpan('t1', { name: 'get', result }, { at: 20 }),
    ]);
  const outcome = (result: string): unknown[] =>
    invocationParts(run(result).output).map(({ toolInvocation: call }) => call.result ?? call.errorText);

  it('is opened', () => {
    expect(outcome(`content='{"sky": "rain"}' name='get' tool_call_id='1'`)).toEqual([{ sky: 'rain' }]);
  });

  it('is a failure by its status', () => {
    expect(outcome(`content='it\\'s down' name='get' tool_call_id='1' status='error'`)).toEqual([
      "it's down",
    ]);
  });

  it('stays a text when it cannot be parsed', () => {
    const text = `content=it is tool_call_id='`;
    expect(outcome(text)).toEqual([text]);
  });
});
