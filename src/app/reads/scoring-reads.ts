import type { JudgeRegistry } from '../../judge/judge-registry.ts';
import { explainTrace } from '../../scoring/explain.ts';
import type { Scoring } from '../../scoring/scoring.ts';
import type { PreparedRule } from '../../scoring/select/rule.ts';
import type { ProcessReads } from './read-ports.ts';

/** Returns what a process that scores adds to the reads of the API. */
export function createScoringReads(
  scoring: Scoring,
  { rules, judges }: { readonly rules: readonly PreparedRule[]; readonly judges: JudgeRegistry },
): ProcessReads {
  return {
    runRules: rules,
    explain: async (key) => (await explainTrace(scoring, key, rules)).computed,
    judgeState: (judge, tenant) => ({
      breaker: judges.breakerOf(judge),
      cacheHits: scoring.reuses.count(judge, tenant),
    }),
  };
}
