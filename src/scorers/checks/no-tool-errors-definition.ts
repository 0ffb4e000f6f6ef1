import { defineScorer } from '../scorer-definition.ts';

/** The scorer `no-tool-errors` of rules. */
export const noToolErrorsDefinition = defineScorer({
  name: 'no-tool-errors',
  needsJudge: false,
  measures: 'whether every tool call was answered without an error',
  options: {},
  create: async ({ options }) => (await import('./tool-checks.ts')).noToolErrors(options as never),
});
