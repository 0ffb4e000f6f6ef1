import { priceLine } from '../domain/model-prices.ts';
import type { Rule } from './schema/rules.ts';

/** Facts about an existing scorer that the configuration needs. */
export interface KnownScorer {
  /** The name used in rules. */
  readonly name: string;
  readonly needsJudge: boolean;
}

/** Scorers of the default rule: those that need no judge and no expectation. */
const DEFAULT_CODE_SCORERS = ['keyword-coverage', 'content-similarity', 'tone', 'no-tool-errors'];

/** Added when a judge is asked for with SPANSCORE_JUDGE. */
const DEFAULT_JUDGED_SCORERS = ['grounding'];

/** Daily budget of the default rule's judged scorers, USD. */
const DEFAULT_BUDGET_USD_PER_DAY = 1;

/** The judge of the default rule, as SPANSCORE_JUDGE names it. */
export interface DefaultJudge {
  readonly model: string;
  /** Without a price no budget can be kept. */
  readonly hasPrice: boolean;
}

/** The rule that holds when the configuration has no `rules`: every trace, and no judge unless one was named. */
export function defaultRule(
  known: readonly KnownScorer[] | undefined,
  judge: DefaultJudge | undefined,
): Rule {
  const exists = (name: string) => known === undefined || known.some((scorer) => scorer.name === name);
  const names =
    judge === undefined ? DEFAULT_CODE_SCORERS : [...DEFAULT_CODE_SCORERS, ...DEFAULT_JUDGED_SCORERS];
  return {
    name: 'default',
    scorers: names.filter(exists),
    target: 'trace',
    sample: { rate: 1, always: [] },
    ...(judge?.hasPrice === true ? { budget: { perDay: DEFAULT_BUDGET_USD_PER_DAY } } : {}),
  };
}

/** The line about the default rule at the start: its cost, or how to get a judge. */
export function defaultRuleNote(judge: DefaultJudge | undefined): string {
  const scorers = DEFAULT_JUDGED_SCORERS.join(' and ');
  if (judge === undefined) {
    return `No judge is asked. To add ${scorers}: SPANSCORE_JUDGE=openai/gpt-5-mini`;
  }
  return judge.hasPrice
    ? `${scorers} asks ${judge.model}, for at most ${DEFAULT_BUDGET_USD_PER_DAY} USD a day (rules[].budget.perDay)`
    : `${scorers} asks ${judge.model} without a budget, since its price is not known (judges.${priceLine(judge.model)} sets it)`;
}
