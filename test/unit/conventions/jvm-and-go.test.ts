import { describe, expect, it } from 'vitest';
import { readTrace } from '../../../src/conventions/read-traces.ts';
import { answerText, invocationParts, textOfMessage } from '../../support/facts.ts';
import { chatSpan, said, spanOf, traceOf } from '../../support/spans.ts';

describe('Genkit', () => {
  const flow = { 'genkit:type': 'action', 'genkit:metadata:subtype': 'flow', 'genkit:name': 'weather' };

  it('fails a tool whose state is an error, and excludes evaluators', () => {
    const { runs } = readTrace(
      traceOf([
        spanOf('flow', { ...flow, 'genkit:input': '"Weather?"', 'genkit:output': '"Down."' }, { lasts: 90 }),
        spanOf(
          'model',
          {
            'genkit:metadata:subtype': 'model',
            'genkit:name': 'p/m',
            'genkit:input': { messages: [{ role: 'user', content: [{ text: 'Weather?' }] }] },
            'genkit:output': {
              candidates: [
                { message: { role: 'model', content: [{ toolRequest: { name: 'get', ref: '1' } }] } },
              ],
            },
          },
          { parent: 'flow', at: 1 },
        ),
        spanOf(
          'get',
          { 'genkit:metadata:subtype': 'tool.v2', 'genkit:name': 'get', 'genkit:state': 'error' },
          { parent: 'flow', at: 20, error: 'no service' },
        ),
        spanOf('judge', { 'genkit:metadata:subtype': 'evaluator' }, { parent: 'flow', at: 30 }),
      ]),
    );
    expect(runs).toMatchObject([{ agent: 'weather', models: ['p/m'] }]);
    expect(invocationParts(runs[0]?.output ?? []).map((part) => part.toolInvocation)).toMatchObject([
      { toolCallId: '1', state: 'output-error', errorText: 'no service' },
    ]);
    expect(runs.map(answerText)).toEqual(['Down.']);
  });
});

describe('Koog', () => {
  it('takes neither input nor usage from the agent span, which holds the conversation before the run', () => {
    const before = [said('User', 'Hi'), said('Assistant', 'Hello')];
    const { runs } = readTrace(
      traceOf([
        spanOf(
          'agent',
          {
            'gen_ai.operation.name': 'invoke_agent',
            'gen_ai.agent.id': 'weather',
            'koog.event.id': 'e',
            'gen_ai.input.messages': before,
            'gen_ai.output.messages': before,
            'gen_ai.usage.input_tokens': 0,
          },
          { lasts: 90 },
        ),
        chatSpan(
          'c',
          {
            input: [...before, said('User', 'Weather?')],
            output: [said('Assistant', 'Rain.')],
            attributes: { 'koog.event.id': 'f', 'gen_ai.usage.input_tokens': 7 },
          },
          { parent: 'agent', at: 1 },
        ),
      ]),
    );
    expect(runs[0]).toMatchObject({ agent: 'weather', usage: { inputTokens: 7 } });
    expect(runs[0]?.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(runs[0]?.input.rememberedMessages.map(textOfMessage)).toEqual(['Hi', 'Hello']);
    expect(runs.map(answerText)).toEqual(['Rain.']);
  });
});

describe('Google ADK', () => {
  it('ignores the span that merges parallel tool calls, and placeholders of what it does not have', () => {
    const scope = { scope: 'gcp.vertex.agent' };
    const tool = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'get' };
    const { runs } = readTrace(
      traceOf([
        spanOf('agent', { 'gen_ai.operation.name': 'invoke_agent' }, { ...scope, lasts: 90 }),
        spanOf(
          'call_llm',
          {
            'gcp.vertex.agent.llm_request': { contents: [{ role: 'user', parts: [{ text: 'Weather?' }] }] },
            'gcp.vertex.agent.llm_response': {
              content: {
                role: 'model',
                parts: [
                  { text: 'I think.', thought: true },
                  { function_call: { name: 'get', args: { a: 1 } } },
                ],
              },
            },
          },
          { ...scope, parent: 'agent', at: 1 },
        ),
        spanOf(
          'get',
          {
            ...tool,
            'gcp.vertex.agent.tool_call_args': { a: 1 },
            'gcp.vertex.agent.tool_response': '<not specified>',
          },
          { ...scope, parent: 'call_llm', at: 2 },
        ),
        spanOf(
          'merged',
          { ...tool, 'gcp.vertex.agent.tool_call_args': 'N/A', 'gcp.vertex.agent.tool_response': '{"x":1}' },
          { ...scope, parent: 'call_llm', at: 3 },
        ),
      ]),
    );
    expect(runs[0]?.output[0]?.content.parts.map(({ type }) => type)).toEqual([
      'reasoning',
      'tool-invocation',
    ]);
    expect(invocationParts(runs[0]?.output ?? []).map((part) => part.toolInvocation)).toMatchObject([
      { toolName: 'get', args: { a: 1 }, state: 'call' },
    ]);
  });
});

describe('Haystack', () => {
  it('tells a retriever, a generator and an agent by class where content is not traced', () => {
    const component = (id: string, type: string, at: number) =>
      spanOf(
        id,
        { 'haystack.component.type': type },
        { scope: 'haystack', name: 'haystack.component.run', parent: 'agent', at },
      );
    const { runs, notUnderstood } = readTrace(
      traceOf([
        spanOf(
          'agent',
          { 'haystack.agent.max_steps': 9 },
          { scope: 'haystack', name: 'haystack.agent.run', lasts: 90 },
        ),
        component('llm', 'OpenAIChatGenerator', 1),
        component('find', 'InMemoryBM25Retriever', 20),
      ]),
    );
    expect(notUnderstood).toEqual([]);
    expect(runs[0]?.notScorable?.code).toBe('no_content_captured');
    expect(runs[0]?.notScorable?.detail).toContain('HAYSTACK_CONTENT_TRACING_ENABLED=true');
  });
});
