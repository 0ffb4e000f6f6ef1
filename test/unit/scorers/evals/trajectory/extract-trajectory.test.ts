import { expect, it } from 'vitest';
import { extractTrajectory } from '../../../../../src/scorers/evals/index.ts';
import { createTestMessage, createToolInvocation } from '../../../../../src/scorers/shared/utils.ts';

function readStep(state: 'call' | 'result' | 'output-error', result: unknown) {
  const invocation = createToolInvocation({
    toolCallId: '1',
    toolName: 'weather',
    args: { city: 'Rome' },
    result,
    state,
  });
  const message = createTestMessage({ role: 'assistant', content: '', toolInvocations: [invocation] });
  return extractTrajectory([message]).steps[0];
}

it.each([
  ['call', {}],
  ['call', null],
  ['output-error', 'gone'],
] as const)('a tool in state %s with %j has no result', (state, result) => {
  expect(readStep(state, result)).toEqual({
    stepType: 'tool_call',
    name: 'weather',
    toolArgs: { city: 'Rome' },
    success: false,
  });
});

it.each([
  [{ degrees: 18 }, { degrees: 18 }],
  [18, { value: 18 }],
])('an answered call has its result: %j', (result, toolResult) => {
  expect(readStep('result', result)).toMatchObject({ success: true, toolResult });
});
