import { describe, expect, it } from 'vitest';
import {
  createTrajectoryAccuracyScorerCode,
  createTrajectoryScorerCode,
} from '../../../../src/scorers/prebuilt/index.ts';

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

  it('takes all that can be expected', async () => {
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
