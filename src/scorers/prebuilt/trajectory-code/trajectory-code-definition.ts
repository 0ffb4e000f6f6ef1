import { defineScorer } from '../../scorer-definition.ts';
import { EXPECTATION_RULES, FORMER_OPTIONS } from '../shared/expectation-options.ts';
import type { TrajectoryWeights } from './evaluate-trajectory.ts';
import { isObject } from '../../../domain/unknown-values.ts';

/** Weights of the dimensions. */
export const DEFAULT_WEIGHTS: TrajectoryWeights = {
  accuracy: 0.4,
  efficiency: 0.3,
  toolFailures: 0.2,
  blacklist: 0.1,
};

/** Options of the scorer. */
export const TRAJECTORY_OPTIONS = {
  defaults: {
    fits: isObject,
    is: 'an object of expectations',
    members: EXPECTATION_RULES,
    ignoredMembers: FORMER_OPTIONS,
    means:
      'what is expected of every run: `steps`, `ordering`, `allowRepeatedSteps`, `maxSteps`, `maxTotalTokens`, `maxTotalDurationMs`, `noRedundantCalls`, `blacklistedTools`, `blacklistedSequences`, `maxRetriesPerTool`; `run.expectedTrajectory` comes first, field by field',
  },
  weights: {
    fits: (value: unknown) =>
      isObject(value) &&
      Object.entries(value).every(
        ([name, weight]) => Object.hasOwn(DEFAULT_WEIGHTS, name) && Number.isFinite(weight),
      ),
    is: `numbers for ${Object.keys(DEFAULT_WEIGHTS).join(', ')}`,
    means: '`accuracy`, `efficiency`, `toolFailures`, `blacklist` in place of the numbers above',
  },
};

/** The scorer `trajectory-code` of rules. */
export const trajectoryCodeDefinition = defineScorer({
  name: 'trajectory-code',
  needsJudge: false,
  measures: 'how a run went about its work: steps, budgets, forbidden steps, failing tools',
  options: TRAJECTORY_OPTIONS,
  create: async ({ options }) =>
    (await import('./trajectory-code-scorer.ts')).createTrajectoryScorerCode(options),
});
