import { describe, expect, it } from 'vitest';
import type { Scorer } from '../../../../src/scorers/evals/index.ts';
import { checks } from '../../../../src/scorers/prebuilt/checks.ts';
import { createAgentTestRun, createTestMessage } from '../../../../src/scorers/shared/utils.ts';

function buildRun(answer: string, tools: readonly string[] = []): ReturnType<typeof createAgentTestRun> {
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
  it('give the same score every time, with any flags of the pattern', async () => {
    const check = checks.matches(/cat/g);
    const scores = [await check.run(buildRun('cat')), await check.run(buildRun('cat'))].map(
      ({ score }) => score,
    );
    expect(scores).toEqual([1, 1]);
  });

  it('anchor an exact pattern at both ends, alternatives as their group says', async () => {
    const check = checks.matches(/(?:a|b)/, { exact: true });
    expect((await check.run(buildRun('axx'))).score).toBe(0);
    expect((await check.run(buildRun('b'))).score).toBe(1);
  });

  it('pass an order that repeats tools', async () => {
    expect((await checks.toolOrder(['a', 'b', 'a']).run(buildRun('', ['a', 'x', 'b', 'a']))).score).toBe(1);
    expect((await checks.toolOrder(['a', 'b', 'a']).run(buildRun('', ['a', 'b']))).score).toBe(0);
  });

  it('name their outcome', async () => {
    expect((await checks.noToolErrors().run(buildRun('', ['a']))).label).toBe('pass');
    expect((await checks.usedNoTools().run(buildRun('', ['a']))).label).toBe('fail');
  });

  it('accept an answer that is a text, and refuse a value that is neither text nor messages', async () => {
    const score = (output: unknown, check: Scorer = checks.includes('18')) => check.run({ output });
    expect((await score('It is 18 degrees.')).score).toBe(1);
    expect((await score('It is 18 degrees.', checks.excludes('18'))).score).toBe(0);
    for (const check of [checks.excludes('18'), checks.noToolErrors(), checks.usedNoTools()]) {
      await expect(score({ text: 'It is 18 degrees.' }, check)).rejects.toThrow(
        'run.output must be the output of an agent run',
      );
    }
  });

  it('refuse options that they cannot search for', () => {
    expect(() => checks.includes('a', { ignoreCas: true } as never)).toThrow('did you mean ignoreCase?');
    expect(() => checks.includes(undefined as never)).toThrow('options.target is missing');
    expect(() => checks.maxToolCalls(-1)).toThrow('options.max is -1; it must be a number of 0 or more');
    expect(() => checks.matches('a' as never)).toThrow('a regular expression');
  });

  it('look at a run without any output', async () => {
    const empty = { output: undefined } as never;
    expect((await checks.noToolErrors().run(empty)).score).toBe(1);
    expect((await checks.includes('x').run(empty)).score).toBe(0);
  });
});
