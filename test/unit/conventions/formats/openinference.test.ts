import { describe, expect, it } from 'vitest';
import type { Span } from '../../../../src/domain/trace/span.ts';
import { answerText, invocationParts, textOfMessage, onlyRun } from '../../../support/recordings/facts.ts';
import { type SpanOptions, buildSpan } from '../../../support/builders/spans.ts';

function oi(id: string, kind: string, attributes: Record<string, unknown>, options: SpanOptions = {}): Span {
  return buildSpan(id, { 'openinference.span.kind': kind, ...attributes }, options);
}

const CALL = {
  'llm.output_messages.0.message.role': 'assistant',
  'llm.output_messages.0.message.tool_calls.0.tool_call.id': '1',
  'llm.output_messages.0.message.tool_calls.0.tool_call.function.name': 'get',
  'llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments': '{"city":"Paris"}',
};

describe('OpenInference', () => {
  it('orders flattened messages by number, with gaps, and ignores attributes without a value', () => {
    const run = onlyRun([
      oi('llm', 'LLM', {
        'llm.input_messages.10.message.content': 'Now?',
        'llm.input_messages.10.message.role': 'user',
        'llm.input_messages.2.message.role': 'user',
        'llm.input_messages.2.message.content': 'First',
        'llm.input_messages.9.message.role': 'assistant',
        'llm.input_messages.9.message.contents.0.message_content.type': 'text',
        'llm.input_messages.9.message.contents.0.message_content.text': 'Second',
        'llm.input_messages.9.message.content': 'Second',
        'llm.input_messages.9.message.tool_calls.0.tool_call.id': '',
        'llm.output_messages.0.message.content': 'Done.',
      }),
    ]);
    expect(run.input.rememberedMessages.map(textOfMessage)).toEqual(['First', 'Second']);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Now?']);
    expect(invocationParts(run.input.rememberedMessages)).toEqual([]);
    expect(answerText(run)).toBe('Done.');
  });

  it('keeps the arguments that the model gave when the tool span has lost their names', () => {
    const lcMessage = {
      type: 'tool',
      data: { content: '{"ok":true}', tool_call_id: '1', name: 'get', status: 'success' },
    };
    const run = onlyRun([
      oi('agent', 'AGENT', {}, { lasts: 50 }),
      oi(
        'llm',
        'LLM',
        { 'llm.input_messages.0.message.content': 'Weather?', ...CALL },
        { parent: 'agent', at: 1 },
      ),
      oi(
        'get',
        'TOOL',
        { 'tool.name': 'get', 'input.value': 'Paris', 'output.value': lcMessage },
        { parent: 'agent', at: 20 },
      ),
    ]);
    expect(invocationParts(run.output)[0]?.toolInvocation).toEqual({
      toolCallId: '1',
      toolName: 'get',
      args: { city: 'Paris' },
      state: 'result',
      result: { ok: true },
    });
  });

  it('takes a span with a tool’s name for a tool, for any kind guessed from its name', () => {
    const run = onlyRun([
      oi('agent', 'AGENT', {}, { lasts: 50 }),
      oi(
        'llm',
        'LLM',
        { 'llm.input_messages.0.message.content': 'Weather?', ...CALL },
        { parent: 'agent', at: 1 },
      ),
      oi('get_agent', 'AGENT', { 'tool.name': 'get', 'output.value': 'rain' }, { parent: 'agent', at: 20 }),
    ]);
    expect([run.subRuns, run.context]).toEqual([[], ['rain']]);
  });

  it('takes no error text of a failed call for an answer, and no step of kind LLM for a call', () => {
    const input = { 'llm.input_messages.0.message.content': 'Weather?' };
    const run = onlyRun([
      oi('agent', 'AGENT', {}, { lasts: 90 }),
      oi('prepare', 'LLM', { 'llm.model_name': 'm' }, { parent: 'agent', at: 1 }),
      oi(
        'failed',
        'LLM',
        { ...input, 'output.value': 'Rate limited' },
        { parent: 'agent', at: 20, error: 'Rate limited' },
      ),
      oi(
        'good',
        'LLM',
        { ...input, 'llm.output_messages.0.message.content': 'Rain.' },
        { parent: 'agent', at: 40 },
      ),
    ]);
    expect(run.output[0]?.content.parts).toEqual([{ type: 'text', text: 'Rain.' }]);
    expect(run.error).toBeNull();
  });

  it('reads documents of retrievers and rerankers, the reranked ones in their order', () => {
    const run = onlyRun([
      oi('chain', 'CHAIN', { 'input.value': 'Refunds?', 'output.value': '30 days.' }, { lasts: 90 }),
      oi(
        'r',
        'RETRIEVER',
        { 'retrieval.documents.0.document.content': 'A', 'retrieval.documents.0.document.score': '0.9' },
        { parent: 'chain', at: 1 },
      ),
      oi(
        'llm',
        'LLM',
        {
          'llm.input_messages.0.message.content': 'Refunds?',
          'llm.output_messages.0.message.content': '30 days.',
        },
        { parent: 'chain', at: 20 },
      ),
    ]);
    expect(run.documents).toEqual([{ id: null, content: 'A', score: 0.9 }]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Refunds?']);
  });

  it('takes a message of LangChain’s from the input value when its blocks were flattened to a role alone', () => {
    const constructed = (name: string, content: unknown) => ({
      lc: 1,
      type: 'constructor',
      id: ['langchain_core', 'messages', name],
      kwargs: { content, additional_kwargs: {} },
    });
    const run = onlyRun([
      oi('ChatOpenAI', 'LLM', {
        'input.value': {
          messages: [
            [
              constructed('SystemMessage', [{ type: 'text', text: 'Be kind.' }]),
              constructed('HumanMessage', 'Weather?'),
            ],
          ],
        },
        'llm.input_messages.0.message.role': 'system',
        'llm.input_messages.1.message.role': 'user',
        'llm.input_messages.1.message.content': 'Weather?',
        'llm.output_messages.0.message.role': 'assistant',
        'llm.output_messages.0.message.content': 'Rain.',
      }),
    ]);
    expect(run.input.systemMessages).toEqual([{ role: 'system', content: 'Be kind.' }]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
  });

  it('takes no content from the input value for a message that the input value does not have', () => {
    const run = onlyRun([
      oi('llm', 'LLM', {
        'input.value': { messages: [{ role: 'user', content: 'Something else' }] },
        'llm.input_messages.0.message.role': 'user',
        'llm.input_messages.0.message.content': 'Weather?',
        'llm.input_messages.1.message.role': 'assistant',
        ...CALL,
      }),
    ]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
  });
});
