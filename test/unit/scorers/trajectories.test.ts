import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createTrajectoryAccuracyScorerCode,
  createTrajectoryScorerCode,
} from '../../../src/scorers/prebuilt/index.ts';
import { extractTrajectory } from '../../../src/scorers/evals/index.ts';
import { createTestMessage, createToolInvocation } from '../../../src/scorers/shared/utils.ts';

const step = { name: 'search' };

describe('the trajectory scorer', () => {
  it.each([
    [{ defaults: { maxStep: 3 } }, 'options.maxStep is unknown; did you mean maxSteps?'],
    [{ defaults: { ordering: 'stirct' } }, 'options.ordering is "stirct"'],
    [{ defaults: { steps: ['search'] } }, 'options.steps is ["search"]'],
    [{ defaults: { maxSteps: '3' } }, 'options.maxSteps is "3"'],
    [{ defaults: { blacklistedTools: 'rm' } }, 'options.blacklistedTools is "rm"'],
    [{ defaults: { blacklistedSequences: ['rm'] } }, 'options.blacklistedSequences is ["rm"]'],
    [{ weights: { accuracy: Number.NaN } }, 'it must be numbers for accuracy'],
    [{ weights: { toString: 1 } }, 'it must be numbers for accuracy'],
  ])('refuses %j', (options, fault) => {
    expect(() => createTrajectoryScorerCode(options as never)).toThrow(fault);
  });

  it('accepts every expectation', async () => {
    const defaults = {
      steps: [step],
      ordering: 'strict' as const,
      allowRepeatedSteps: false,
      maxSteps: 1,
      maxTotalTokens: 10,
      maxTotalDurationMs: 10,
      noRedundantCalls: true,
      blacklistedTools: ['rm'],
      blacklistedSequences: [['a', 'b']],
      maxRetriesPerTool: 0,
    };
    const run = {
      input: 'q',
      output: { steps: [{ ...step, stepType: 'tool_call' as const }], totalDurationMs: 1 },
    };
    const { maxTotalTokens: _tokens, ...measured } = defaults;
    expect((await createTrajectoryScorerCode({ defaults: measured }).run(run)).score).toBe(1);
    expect(() => createTrajectoryScorerCode({ defaults })).not.toThrow();
  });
});

describe('the trajectory accuracy scorer', () => {
  it.each([
    [{ expectedTrajectory: ['search'] }, 'a list of steps, each with a name'],
    [{ expectedTrajectory: { steps: [{}] } }, 'a list of steps, each with a name'],
    [{ expectedTrajectory: [step], comparisonOptions: { ordering: 'any' } }, 'options.ordering is "any"'],
    [
      { expectedTrajectory: [step], comparisonOptions: { allowRepeatedStep: true } },
      'did you mean allowRepeatedSteps?',
    ],
  ])('refuses %j', (options, fault) => {
    expect(() => createTrajectoryAccuracyScorerCode(options as never)).toThrow(fault);
  });
});

describe('fields that change no score', () => {
  const output = {
    steps: [
      { name: 'search', stepType: 'tool_call' as const, toolArgs: { q: 'rain' } },
      { name: 'sum', stepType: 'tool_call' as const },
    ],
  };
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);

  /** The warnings so far: they are told on the next turn of the event loop. */
  async function told(): Promise<string[]> {
    await setImmediate();
    return warnings.splice(0).map(({ message }) => message);
  }

  beforeEach(() => process.on('warning', note));
  afterEach(() => process.off('warning', note));

  it('are ignored by the trajectory accuracy scorer, with one warning that names them', async () => {
    const config = {
      expectedTrajectory: [
        { name: 'search', stepType: 'tool_call', data: { q: 'sun' }, toolArgs: { q: 'rain' } },
      ],
      comparisonOptions: { strictOrder: true, compareStepData: true },
    };
    const scorer = createTrajectoryAccuracyScorerCode(config as never);
    expect((await scorer.run({ output })).score).toBe(1);
    createTrajectoryAccuracyScorerCode(config as never);
    expect(await told()).toEqual([
      expect.stringMatching(/ ignores strictOrder, compareStepData, steps\[\]\.data:/) as string,
    ]);
  });

  it('are ignored by the trajectory scorer, within steps too', async () => {
    const children = { steps: [{ name: 'read', toolArgs: {} }], strictOrder: true };
    const defaults = { compareStepData: false, steps: [{ name: 'sum', children }] };
    await createTrajectoryScorerCode({ defaults }).run({ output });
    const names =
      'compareStepData, steps[].children.strictOrder, steps[].children.steps[].toolArgs (without stepType)';
    expect(await told()).toEqual([expect.stringContaining(` ignores ${names}:`) as string]);
  });

  it('are named once for the expectations of all runs', async () => {
    const expectedTrajectory = {
      steps: [{ name: 'search', stepType: 'tool_call', result: 1 }],
      compareStepData: true,
    };
    const scorer = createTrajectoryAccuracyScorerCode();
    const scores = [
      await scorer.run({ output, expectedTrajectory }),
      await scorer.run({ output, expectedTrajectory }),
    ].map(({ score }) => score);
    expect(scores).toEqual([1, 1]);
    expect(await told()).toEqual([expect.stringContaining('compareStepData, steps[].result:') as string]);
  });

  it('are no steps as they were taken', async () => {
    const steps = output.steps.map((taken) => ({ ...taken, durationMs: 5, metadata: { a: 1 } }));
    createTrajectoryAccuracyScorerCode({ expectedTrajectory: { steps } });
    expect(await told()).toEqual([]);
  });
});

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
