import { createAgentTestRun, createTestMessage } from '../../../src/scorers/shared/utils.ts';

/** Builds a run of one question and one answer, with further parts of its input. */
export function answeredRun(
  question: string,
  answer: string,
  more: Omit<Parameters<typeof createAgentTestRun>[0], 'inputMessages' | 'output'> = {},
): ReturnType<typeof createAgentTestRun> {
  return createAgentTestRun({
    ...more,
    inputMessages: [createTestMessage({ role: 'user', content: question })],
    output: [createTestMessage({ role: 'assistant', content: answer })],
  });
}
