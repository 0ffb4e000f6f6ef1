import { describe, expect, it } from 'vitest';
import { checks } from '../../../../src/scorers/checks/index.ts';
import { createAgentTestRun, createTestMessage } from '../../../../src/scorers/utils/index.ts';

function runOf(answer: string, tools: readonly string[] = []): ReturnType<typeof createAgentTestRun> {
  const toolInvocations = tools.map((toolName, index) => ({
    toolCallId: String(index),
    toolName,
    args: {},
    result: 1,
  }));
  return createAgentTestRun({
    output: [createTestMessage({ role: 'assistant', content: answer, toolInvocations })],
  });
}

describe('checks', () => {
  it('give the same score every time, whatever flags the pattern has', async () => {
    const check = checks.matches(/cat/g);
    const scores = [await check.run(runOf('cat')), await check.run(runOf('cat'))].map(({ score }) => score);
    expect(scores).toEqual([1, 1]);
  });

  it('anchor an exact pattern at both ends, alternatives as their group says', async () => {
    const check = checks.matches(/(?:a|b)/, { exact: true });
    expect((await check.run(runOf('axx'))).score).toBe(0);
    expect((await check.run(runOf('b'))).score).toBe(1);
  });

  it('pass an order that repeats tools', async () => {
    expect((await checks.toolOrder(['a', 'b', 'a']).run(runOf('', ['a', 'x', 'b', 'a']))).score).toBe(1);
    expect((await checks.toolOrder(['a', 'b', 'a']).run(runOf('', ['a', 'b']))).score).toBe(0);
  });

  it('name their outcome', async () => {
    expect((await checks.noToolErrors().run(runOf('', ['a']))).label).toBe('pass');
    expect((await checks.usedNoTools().run(runOf('', ['a']))).label).toBe('fail');
  });

  it('look at a run without any output', async () => {
    const empty = { output: undefined } as never;
    expect((await checks.noToolErrors().run(empty)).score).toBe(1);
    expect((await checks.includes('x').run(empty)).score).toBe(0);
  });
});
