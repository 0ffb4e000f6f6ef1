import { defineScorer } from '../../scorer-definition.ts';
import { TRAJECTORY_OPTIONS } from './trajectory-code-options.ts';

/** The scorer `trajectory-code` of rules. */
export const trajectoryCodeDefinition = defineScorer({
  name: 'trajectory-code',
  needsJudge: false,
  measures: 'how a run went about its work: steps, budgets, forbidden steps, failing tools',
  options: TRAJECTORY_OPTIONS,
  create: async ({ options }) =>
    (await import('./trajectory-code-scorer.ts')).createTrajectoryScorerCode(options),
});
