import { describe, expect, it } from 'vitest';
import { showReading } from '../../../../src/cli/show/show-reading.ts';
import type { AgentRun, TraceReading } from '../../../../src/domain/trace/agent-run.ts';
import type { AgentMessage, MessagePart } from '../../../../src/domain/trace/messages.ts';

function aMessage(role: AgentMessage['role'], ...parts: MessagePart[]): AgentMessage {
  return { id: 'm', role, createdAt: new Date(0), content: { format: 2, parts } };
}

function aRun(changes: Partial<AgentRun> = {}): AgentRun {
  return {
    target: { kind: 'trace', traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) },
    conventions: ['ai-sdk'],
    agent: 'weather-agent',
    agentVersion: null,
    service: 'shop',
    serviceVersion: null,
    environment: null,
    sessionId: null,
    userId: null,
    models: ['gpt-4o-mini'],
    usage: {
      inputTokens: 193,
      outputTokens: 31,
      totalTokens: 224,
      reasoningTokens: null,
      cachedInputTokens: null,
      cacheWriteTokens: null,
    },
    startedAt: '2026-11-21T07:00:00.000Z',
    endedAt: '2026-11-21T07:00:01.500Z',
    status: 'ok',
    error: null,
    input: { inputMessages: [], rememberedMessages: [], systemMessages: [], taggedSystemMessages: {} },
    output: [],
    documents: [],
    context: [],
    scorable: true,
    notScorable: null,
    warnings: [],
    subRuns: [],
    ...changes,
  };
}

function aReading(...runs: AgentRun[]): TraceReading {
  return { traceId: 'a'.repeat(32), spanCount: 3, logCount: 0, runs, notScorable: null, notUnderstood: [] };
}

describe('showReading', () => {
  it('tells a run as a conversation with its tool calls and their results', () => {
    const text = showReading(
      aReading(
        aRun({
          input: {
            systemMessages: [{ role: 'system', content: 'Be kind.' }],
            rememberedMessages: [aMessage('user', { type: 'text', text: 'Hi' })],
            inputMessages: [aMessage('user', { type: 'text', text: 'Weather?' })],
            taggedSystemMessages: {},
          },
          output: [
            aMessage(
              'assistant',
              {
                type: 'tool-invocation',
                toolInvocation: {
                  toolCallId: '1',
                  toolName: 'get',
                  args: { city: 'Paris' },
                  state: 'result',
                  result: { t: 18 },
                },
              },
              {
                type: 'tool-invocation',
                toolInvocation: {
                  toolCallId: '2',
                  toolName: 'book',
                  args: {},
                  state: 'output-error',
                  errorText: 'down',
                },
              },
              { type: 'text', text: 'It is 18.' },
            ),
          ],
          context: ['{"t":18}'],
        }),
      ),
    );

    expect(text.split('\n').map((line) => line.trim())).toEqual([
      `trace ${'a'.repeat(32)} · 3 spans, 0 log records`,
      'run weather-agent · service shop · ai-sdk · gpt-4o-mini · 193 tokens in, 31 out · 1500 ms',
      'system     Be kind.',
      'earlier user Hi',
      'user       Weather?',
      'tool       get {"city":"Paris"}',
      'result   {"t":18}',
      'tool       book {}',
      'failed   down',
      'assistant  It is 18.',
      'can be scored, with 1 piece of evidence',
    ]);
  });

  it('says why a run cannot be scored, and which setting is missing', () => {
    const notScorable = { code: 'no_content_captured', detail: 'set OTEL_CAPTURE=true' } as const;

    const text = showReading(aReading(aRun({ scorable: false, notScorable })));

    expect(text).toContain('cannot be scored: no_content_captured: set OTEL_CAPTURE=true');
  });

  it('shows spans that were not understood per service and scope, grouped by name', () => {
    const reading: TraceReading = {
      ...aReading(),
      notScorable: { code: 'no_agent_or_llm_span', detail: 'none' },
      notUnderstood: ['c', 'd'].map((id) => ({
        spanId: id.repeat(16),
        name: 'llm',
        service: 'shop',
        scope: 'x',
        reason: 'no convention',
        attributes: ['llm.a', `llm.${id}`],
      })),
    };

    expect(showReading(reading)).toContain('cannot be scored: no_agent_or_llm_span: none');
    expect(showReading(reading)).toContain(
      'not understood: 2 spans "llm" (shop, scope x; cccccccccccccccc): no convention; attributes llm.a, llm.c, llm.d',
    );
  });

  it('lets no text of a trace act on the terminal', () => {
    const hostile = '\u001B[2J\u001B]0;x\u0007\u009B31m\r';

    const text = showReading(
      aReading(
        aRun({
          agent: hostile,
          service: hostile,
          models: [hostile],
          error: { type: hostile, message: hostile },
          output: [aMessage('assistant', { type: 'text', text: `${hostile}end` })],
          documents: [{ id: null, content: hostile, score: null }],
          warnings: [{ code: 'truncated', spanId: 'd'.repeat(16), detail: hostile }],
        }),
      ),
    );

    expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    expect(text).toContain('end');
  });

  it('cuts a long text and says how long it is', () => {
    const text = showReading(
      aReading(aRun({ output: [aMessage('assistant', { type: 'text', text: 'x'.repeat(5000) })] })),
    );

    expect(text).toContain('(5000 characters)');
    expect(text.length).toBeLessThan(2000);
  });

  it('shows agents below a run, and ends where they never do', () => {
    const deep = Array.from({ length: 50 }).reduce<AgentRun>(
      (child, _, index) => aRun({ agent: `agent-${index}`, subRuns: [child] }),
      aRun(),
    );

    expect(showReading(aReading(deep))).toContain('agent-48');
  });
});
