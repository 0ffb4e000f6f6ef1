import { priceLine } from '../domain/money/model-prices.ts';
import type { Rule } from './schema/rules.ts';

/** Facts about a scorer that the configuration needs. */
export interface KnownScorer {
  /** Name used in rules. */
  readonly name: string;
  readonly needsJudge: boolean;
  /** Names of its score rows, for a scorer that writes several. */
  readonly rows?: readonly string[];
  /** The first fault of its options in words; absent: they are not checked. */
  findOptionFault?(options: Readonly<Record<string, unknown>>): string | undefined;
}

/** Scorers of the default rule: what each run did. */
const DEFAULT_CODE_SCORERS = ['behaviour'];

/** Scorers added when SPANSCORE_JUDGE names a judge. */
const DEFAULT_JUDGED_SCORERS = ['grounding'];

/** Daily budget of the default rule's judged scorers, USD. */
const DEFAULT_BUDGET_USD_PER_DAY = 1;

/** Judge of the default rule, as SPANSCORE_JUDGE names it. */
export interface DefaultJudge {
  readonly model: string;
  /** False when the price is unknown; then no budget can be kept. */
  readonly hasPrice: boolean;
}

/**
 * Returns the rule that applies when the configuration has no `rules`: it scores every trace, and uses no judge unless one
 * is named.
 */
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

/** Returns the line about the default rule at the start: its cost, or how to set a judge. */
export function defaultRuleNote(judge: DefaultJudge | undefined): string {
  const scorers = DEFAULT_JUDGED_SCORERS.join(' and ');
  if (judge === undefined) {
    return `No judge is called. To add ${scorers}, set SPANSCORE_JUDGE=openai/gpt-5-mini`;
  }
  return judge.hasPrice
    ? `${scorers} calls ${judge.model}, for at most ${DEFAULT_BUDGET_USD_PER_DAY} USD a day (rules[].budget.perDay)`
    : `${scorers} calls ${judge.model} without a budget, because its price is unknown (to set it: judges.${priceLine(judge.model)})`;
}
