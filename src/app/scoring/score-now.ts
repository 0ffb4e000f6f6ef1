import { COMMAND_RULE } from '../../domain/decision.ts';
import { RequestError } from '../../domain/errors.ts';
import { scoreTraces } from '../../scoring/score-traces.ts';
import type { Scoring } from '../../scoring/scoring.ts';
import { apiMode } from '../../scoring/scoring-mode.ts';
import type { PreparedRule } from '../../scoring/select/rule.ts';
import type { TraceOutcome } from '../../scoring/trace-task.ts';
import type { TraceKey } from '../../store/contracts/stores.ts';
import type { ScorerKit } from './scorer-kit.ts';

/**
 * Returns the rules for a scoring that somebody asks for: one with the named scorers, or those of the configuration. Throws an
 * `RequestError` when there is none, and a `ConfigError` for a scorer that cannot be used.
 */
export async function listRulesNow(
  kit: ScorerKit,
  scorers: readonly string[] | undefined,
  isOfSession: boolean,
): Promise<readonly PreparedRule[]> {
  if (scorers !== undefined) {
    return [await kit.prepareOwnRule(COMMAND_RULE, scorers, isOfSession ? 'session' : 'trace')];
  }
  const rules = kit.rules.filter(({ target }) => (target === 'session') === isOfSession);
  if (rules.length === 0) {
    const what = isOfSession ? 'sessions' : 'traces';
    throw new RequestError(`no rules on ${what} are configured: name scorers with --scorer`);
  }
  return rules;
}

/** Scores traces now, without a look at earlier results. Returns one outcome for each trace. */
export function scoreTracesNow(
  scoring: Scoring,
  keys: readonly TraceKey[],
  rules: readonly PreparedRule[],
  options: { readonly write: boolean },
): Promise<TraceOutcome[]> {
  return scoreTraces(scoring, keys, apiMode(rules, options));
}
