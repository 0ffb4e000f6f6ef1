import { equals, excludes, includes, matches, similarity } from './text-checks.ts';
import { calledTool, didNotCall, maxToolCalls, noToolErrors, toolOrder, usedNoTools } from './tool-checks.ts';

/** All checks by name. */
export const checks = {
  includes,
  excludes,
  equals,
  matches,
  similarity,
  calledTool,
  didNotCall,
  toolOrder,
  maxToolCalls,
  usedNoTools,
  noToolErrors,
} as const;

export {
  calledTool,
  didNotCall,
  equals,
  excludes,
  includes,
  matches,
  maxToolCalls,
  noToolErrors,
  similarity,
  toolOrder,
  usedNoTools,
};
export type { CheckScorer } from './check-scorer.ts';
