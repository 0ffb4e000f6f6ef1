import { describe, expect, it } from 'vitest';
import type { Span } from '../../../../src/domain/trace/span.ts';
import {
  invocations,
  answerText,
  invocationParts,
  textOfMessage,
  onlyRun,
} from '../../../support/recordings/facts.ts';
import { type SpanOptions, buildSpan } from '../../../support/builders/spans.ts';

function observation(
  id: string,
  type: string,
  values: { input?: unknown; output?: unknown; more?: Record<string, unknown> },
  options: SpanOptions = {},
): Span {
  return buildSpan(
    id,
    {
      'langfuse.observation.type': type,
      ...(values.input === undefined ? {} : { 'langfuse.observation.input': values.input }),
      ...(values.output === undefined ? {} : { 'langfuse.observation.output': values.output }),
      ...values.more,
    },
    { scope: 'langfuse-sdk', ...options },
  );
}

const CALL = { id: '1', type: 'function', function: { name: 'get', arguments: '{"city":"Paris"}' } };

describe('Langfuse', () => {
  it('reads agents, generations, tools and retrievers with the values that the application passed', () => {
    const usage = { prompt_tokens: 5, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 1 } };
    const model = { 'langfuse.observation.model.name': 'm', 'langfuse.observation.usage_details': usage };
    const run = onlyRun([
      observation(
        'weather',
        'agent',
        { input: { args: ['Weather?'], kwargs: {} }, output: 'Rain.' },
        { lasts: 90 },
      ),
      observation(
        'r',
        'retriever',
        { output: [{ id: 'd1', content: 'Docs', score: 0.9 }] },
        { parent: 'weather', at: 1 },
      ),
      observation(
        'g1',
        'generation',
        {
          input: {
            messages: [
              { role: 'system', content: 'Be kind.' },
              { role: 'user', content: 'Weather?' },
            ],
            tools: [],
          },
          output: { role: 'assistant', content: null, tool_calls: [CALL] },
          more: model,
        },
        { parent: 'weather', at: 20 },
      ),
      observation(
        'get',
        'tool',
        { input: { args: [], kwargs: { city: 'Paris' } }, output: { ok: true } },
        { parent: 'weather', at: 40 },
      ),
      observation(
        'g2',
        'span',
        { output: { role: 'assistant', content: 'Rain.' }, more: model },
        { parent: 'weather', at: 60 },
      ),
      observation('judge', 'evaluator', { input: 'x', output: 'y' }, { parent: 'weather', at: 80 }),
    ]);
    expect(run).toMatchObject({
      agent: 'weather',
      conventions: ['langfuse'],
      models: ['m'],
      usage: { inputTokens: 10, outputTokens: 4, totalTokens: 14, cachedInputTokens: 2 },
      documents: [{ id: 'd1', content: 'Docs', score: 0.9 }],
    });
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(invocationParts(run.output)[0]?.toolInvocation).toMatchObject({
      toolCallId: '1',
      args: { city: 'Paris' },
      result: { ok: true },
    });
    expect(answerText(run)).toBe('Rain.');
  });

  it('takes the version of an agent observation for that of the agent', () => {
    const more = { 'langfuse.version': '2.0', 'langfuse.release': 'v51' };
    const run = onlyRun([observation('weather', 'agent', { input: 'Weather?', output: 'Rain.', more })]);
    expect(run).toMatchObject({ agent: 'weather', agentVersion: '2.0', serviceVersion: null });
  });

  it('takes the level ERROR of a tool for its failure', () => {
    const more = { 'langfuse.observation.level': 'ERROR', 'langfuse.observation.status_message': 'down' };
    const run = onlyRun([
      observation('weather', 'agent', { input: 'Weather?', output: 'Sorry.' }, { lasts: 90 }),
      observation('get', 'tool', { input: { city: 'Paris' }, more }, { parent: 'weather', at: 1 }),
    ]);
    expect(run.context).toEqual(['get failed: down']);
  });

  it('takes facts of the whole trace for the root when the root has none', () => {
    const trace = { 'langfuse.trace.input': { question: 'Weather?' }, 'langfuse.trace.output': 'Rain.' };
    const run = onlyRun([
      observation('weather', 'agent', { more: trace }, { lasts: 90 }),
      observation('step', 'span', { more: trace }, { parent: 'weather', at: 1, lasts: 50 }),
      observation('g', 'generation', { more: trace }, { parent: 'step', at: 2 }),
    ]);
    expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
    expect(answerText(run)).toBe('Rain.');
  });

  it('takes a step of a general kind whose output is a tool’s message for the tool call', () => {
    const message = {
      type: 'tool',
      name: 'get',
      tool_call_id: '1',
      content: '{"ok":true}',
      status: 'success',
    };
    const run = onlyRun([
      observation('weather', 'agent', { input: 'Weather?', output: 'Rain.' }, { lasts: 90 }),
      observation(
        'tools',
        'span',
        { output: { messages: [message] } },
        { parent: 'weather', at: 1, lasts: 20 },
      ),
      observation('get', 'span', { input: "{'city': 'Paris'}", output: message }, { parent: 'tools', at: 2 }),
    ]);
    expect(invocations(run)).toEqual([
      { toolCallId: '1', toolName: 'get', args: { city: 'Paris' }, state: 'result', result: { ok: true } },
    ]);
  });
});
