import { describe, expect, it } from 'vitest';
import type { ToolInvocation } from '../../../../../src/domain/trace/messages.ts';
import { listPieces } from '../../../../../src/scorers/shared/run-evidence.ts';
import type { ScorerRunInput } from '../../../../../src/scorers/evals/index.ts';
import { createTestMessage, createToolInvocation } from '../../../../../src/scorers/shared/utils.ts';

function answer(invocations: ToolInvocation[], handoff = false): ReturnType<typeof createTestMessage> {
  return createTestMessage({
    content: 'text',
    role: 'assistant',
    parts: invocations.map((toolInvocation) => ({
      type: 'tool-invocation',
      toolInvocation,
      ...(handoff ? { handoff } : {}),
    })),
  });
}

const weather = createToolInvocation({
  toolCallId: '1',
  toolName: 'weather',
  args: { city: 'Paris' },
  result: { tempC: 18 },
});
const failed = createToolInvocation({
  toolCallId: '2',
  toolName: 'map',
  args: {},
  state: 'output-error',
  errorText: 'timeout',
});

const contextOfRun = (run: ScorerRunInput, ...sight: Parameters<typeof listPieces>[1][]) =>
  listPieces(run, ...sight).map(({ text }) => text);

describe('the context of a run', () => {
  it('is the context of the caller', () => {
    expect(contextOfRun({ output: [answer([weather])], context: ['given', 'given', ''] })).toEqual(['given']);
  });

  it('is the calls of the tools with their results or failures, when the caller gives no context', () => {
    expect(contextOfRun({ output: [answer([weather, failed])], context: [] })).toEqual([
      'weather {"city":"Paris"} → {"tempC":18}',
      'map failed: timeout',
    ]);
    expect(contextOfRun({ output: [answer([weather])] }, { sees: ['documents'] })).toEqual([]);
  });

  it('reads tools from the list of invocations too, and equal calls with equal results once', () => {
    const legacy = createTestMessage({
      content: 'text',
      role: 'assistant',
      toolInvocations: [
        { toolCallId: '7', toolName: 'a', args: {}, result: 'same' },
        { toolCallId: '8', toolName: 'a', args: {}, result: 'same' },
        { toolCallId: '10', toolName: 'b', args: {}, result: 'same' },
        { toolCallId: '9', toolName: 'c', args: {}, state: 'call' },
      ],
    });
    expect(contextOfRun({ output: [legacy] })).toEqual(['a → same', 'b → same']);
  });

  it('names a result that is marked as an error as a failure', () => {
    const marked = createToolInvocation({
      toolCallId: '1',
      toolName: 'db',
      args: {},
      result: 'gone',
      isError: true,
    });
    expect(contextOfRun({ output: [answer([marked])] })).toEqual(['db failed: gone']);
  });

  it('leaves out transfers between agents, tools that take the answer, and outputs that hold no messages', () => {
    expect(contextOfRun({ output: [answer([weather], true)] })).toEqual([]);
    expect(contextOfRun({ output: [answer([{ ...weather, toolName: 'final_answer' }])] })).toEqual([]);
    expect(contextOfRun({ output: 'text' })).toEqual([]);
  });
});
