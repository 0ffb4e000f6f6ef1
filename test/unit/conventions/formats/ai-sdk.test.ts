import { describe, expect, it } from 'vitest';
import type { Span } from '../../../../src/domain/trace/span.ts';
import { answerText, invocationParts, textOfMessage, onlyRun } from '../../../support/recordings/facts.ts';
import { type SpanOptions, buildSpan } from '../../../support/builders/spans.ts';

function ai(
  id: string,
  operation: string,
  attributes: Record<string, unknown>,
  options: SpanOptions = {},
): Span {
  return buildSpan(id, { 'ai.operationId': operation, ...attributes }, { scope: 'ai', ...options });
}

const ROOT = { 'ai.prompt': { system: 'Be kind.', prompt: 'Weather?' } };

describe('the AI SDK', () => {
  it('takes the prompt as a text, as messages, or as a list under prompt', () => {
    const prompts = [
      { prompt: 'Weather?' },
      { messages: [{ role: 'user', content: 'Weather?' }] },
      { prompt: [{ role: 'user', content: [{ type: 'text', text: 'Weather?' }] }] },
    ];
    for (const prompt of prompts) {
      const run = onlyRun([
        ai('root', 'ai.generateText', { 'ai.prompt': prompt, 'ai.response.text': 'Rain.' }),
      ]);
      expect(run.input.inputMessages.map(textOfMessage)).toEqual(['Weather?']);
      expect(run.conventions).toEqual(['ai-sdk']);
    }
  });

  it('reads the run from the root alone, calls before the answer', () => {
    const run = onlyRun([
      ai('root', 'ai.streamText', {
        ...ROOT,
        'ai.response.text': 'Rain.',
        'ai.response.reasoning': 'Hm.',
        'ai.response.toolCalls': [{ toolCallId: '1', toolName: 'get', input: { a: 1 } }],
      }),
    ]);
    expect(run.output[0]?.content.parts.map((part) => part.type)).toEqual([
      'reasoning',
      'tool-invocation',
      'text',
    ]);
    expect(run.input.systemMessages).toEqual([{ role: 'system', content: 'Be kind.' }]);
  });

  it('reads a generated object as the answer, once', () => {
    const run = onlyRun([
      ai('root', 'ai.generateObject', { ...ROOT, 'ai.response.object': '{"sky":"rain"}' }, { lasts: 50 }),
      ai(
        'call',
        'ai.generateObject.doGenerate',
        { 'ai.response.object': '{"sky": "rain"}' },
        { parent: 'root', at: 1 },
      ),
    ]);
    expect(run.output[0]?.content.parts).toHaveLength(1);
    expect(JSON.parse(answerText(run))).toEqual({ sky: 'rain' });
  });

  it('has a run that waits when its answer asks for the approval of a call', () => {
    const asked = { type: 'tool-call', toolCallId: '1', toolName: 'refund', input: '{"order":7}' };
    const approval = { type: 'tool-approval-request', approvalId: 'a1', toolCallId: '1' };
    const run = onlyRun([
      ai('root', 'ai.generateText', { ...ROOT, 'ai.response.finishReason': 'tool-calls' }, { lasts: 90 }),
      ai(
        'c1',
        'ai.generateText.doGenerate',
        { 'ai.response.toolCalls': [asked], 'ai.response.content': [asked, approval] },
        { parent: 'root', at: 1 },
      ),
    ]);
    expect(run.notScorable?.code).toBe('run_waiting');
  });

  it.each([
    ['error-text', { type: 'error-text', value: 'down' }, 'output-error'],
    ['error-json', { type: 'error-json', value: { code: 5 } }, 'output-error'],
    ['execution-denied', { type: 'execution-denied', reason: 'no' }, 'output-denied'],
    ['text', { type: 'text', value: '42' }, 'result'],
    ['json', { type: 'json', value: null }, 'result'],
    ['content', { type: 'content', value: [{ type: 'text', text: 'x' }] }, 'result'],
  ])('reads a tool output of type %s from the next prompt', (_type, output, state) => {
    const asked = { toolCallId: '1', toolName: 'get', input: '{"a":1}' };
    const run = onlyRun([
      ai('root', 'ai.generateText', { ...ROOT, 'ai.response.text': 'Done.' }, { lasts: 90 }),
      ai(
        'c1',
        'ai.generateText.doGenerate',
        {
          'ai.prompt.messages': [{ role: 'user', content: [{ type: 'text', text: 'Weather?' }] }],
          'ai.response.toolCalls': [asked],
        },
        { parent: 'root', at: 1 },
      ),
      ai(
        'c2',
        'ai.generateText.doGenerate',
        {
          'ai.prompt.messages': [
            { role: 'user', content: [{ type: 'text', text: 'Weather?' }] },
            {
              role: 'assistant',
              content: [
                { type: 'reasoning', text: 'Hm.' },
                { type: 'tool-call', ...asked, input: { a: 1 } },
              ],
            },
            { role: 'tool', content: [{ type: 'tool-result', toolCallId: '1', toolName: 'get', output }] },
          ],
          'ai.response.text': 'Done.',
        },
        { parent: 'root', at: 40 },
      ),
    ]);
    const [part] = invocationParts(run.output);
    expect(part?.toolInvocation).toMatchObject({ state, args: { a: 1 } });
    expect(run.output[0]?.content.parts[0]).toMatchObject({ type: 'reasoning', reasoning: 'Hm.' });
    expect(part?.toolInvocation.result).toEqual(
      state === 'result' ? (output as { value?: unknown }).value : undefined,
    );
  });

  it('says that a run whose tool threw has no answer', () => {
    const run = onlyRun([
      ai('root', 'ai.generateText', ROOT, { lasts: 90, error: 'backend down' }),
      ai(
        'c1',
        'ai.generateText.doGenerate',
        { 'ai.response.toolCalls': [{ toolCallId: '1', toolName: 'get', args: '{}' }] },
        { parent: 'root', at: 1 },
      ),
      ai(
        't1',
        'ai.toolCall',
        { 'ai.toolCall.id': '1', 'ai.toolCall.name': 'get', 'ai.toolCall.args': '{}' },
        { parent: 'root', at: 20, error: 'backend down' },
      ),
    ]);
    expect(run).toMatchObject({
      status: 'error',
      error: { type: 'Error', message: 'backend down' },
      scorable: false,
    });
    expect(run.notScorable?.code).toBe('run_errored_before_output');
    expect(invocationParts(run.output)[0]?.toolInvocation.state).toBe('output-error');
  });

  it('reads token counts under every name, and none if a stream has none', () => {
    const old = onlyRun([
      ai(
        'root',
        'ai.generateText',
        { ...ROOT, 'ai.response.text': 'x', 'ai.usage.promptTokens': 3, 'ai.usage.completionTokens': 2 },
        { lasts: 50 },
      ),
      ai(
        'call',
        'ai.generateText.doGenerate',
        {
          'ai.usage.promptTokens': 3,
          'ai.usage.completionTokens': 2,
          'ai.response.providerMetadata': { openai: { reasoningTokens: 1, cachedPromptTokens: 2 } },
        },
        { parent: 'root', at: 1 },
      ),
    ]);
    expect(old.usage).toEqual({
      inputTokens: 3,
      outputTokens: 2,
      totalTokens: 5,
      reasoningTokens: 1,
      cacheWriteTokens: null,
      cachedInputTokens: 2,
    });
    const untold = onlyRun([
      ai('root', 'ai.streamText', { ...ROOT, 'ai.response.text': 'x', 'ai.usage.inputTokens': 'NaN' }),
    ]);
    expect(Object.values(untold.usage)).toEqual([null, null, null, null, null, null]);
  });

  it.each(['ai.telemetry.metadata.', 'ai.settings.context.'])(
    'reads session and user under %s, however spelt',
    (prefix) => {
      for (const [session, user] of [
        ['sessionId', 'userId'],
        ['session_id', 'user_id'],
        ['threadId', 'user'],
        ['conversation-id', 'enduser.id'],
        ['chatId', 'USER_ID'],
      ]) {
        const run = onlyRun([
          ai('root', 'ai.generateText', {
            ...ROOT,
            'ai.response.text': 'x',
            [`${prefix}${session}`]: 's',
            [`${prefix}${user}`]: 'u',
          }),
        ]);
        expect([run.sessionId, run.userId]).toEqual(['s', 'u']);
      }
    },
  );

  it('takes the reranked documents in their new order', () => {
    const run = onlyRun([
      ai('root', 'ai.generateText', { ...ROOT, 'ai.response.text': 'x' }, { lasts: 90 }),
      ai(
        'rerank',
        'ai.rerank',
        {
          'ai.documents': ['"A"', '{"text":"B"}'],
          'ai.ranking': [
            { index: 1, score: 0.9 },
            { index: 0, score: 0.1 },
          ],
        },
        { parent: 'root', at: 1 },
      ),
    ]);
    expect(run.documents).toEqual([
      { id: null, content: 'B', score: 0.9 },
      { id: null, content: 'A', score: 0.1 },
    ]);
  });
});
