import type { Rule } from './schema/rules.ts';

/** What the configuration needs to know of a scorer that exists. */
export interface KnownScorer {
  /** The name used in rules. */
  readonly name: string;
  readonly needsJudge: boolean;
}

/** Scorers of the default rule: those that need no judge and no expectation. */
const DEFAULT_CODE_SCORERS = ['keyword-coverage', 'content-similarity', 'tone', 'no-tool-errors'];

/** Added when a judge is asked for with SPANSCORE_JUDGE. */
const DEFAULT_JUDGED_SCORERS = ['grounding'];

/** What the judged scorers of the default rule may cost. */
const DEFAULT_BUDGET_USD_PER_DAY = 1;

/** The rule that holds when the configuration has no `rules`: every trace, and no judge unless one was named. */
export function defaultRule(known: readonly KnownScorer[] | undefined, judged: boolean): Rule {
  const exists = (name: string) => known === undefined || known.some((scorer) => scorer.name === name);
  const wanted = judged ? [...DEFAULT_CODE_SCORERS, ...DEFAULT_JUDGED_SCORERS] : DEFAULT_CODE_SCORERS;
  return {
    name: 'default',
    scorers: wanted.filter(exists),
    target: 'trace',
    sample: { rate: 1, always: [] },
    ...(judged ? { budget: { perDay: DEFAULT_BUDGET_USD_PER_DAY } } : {}),
  };
}

/** What to tell at the start about the default rule: its cost, or how to get a judge. */
export function defaultRuleNote(judge: string | undefined): string {
  return judge === undefined
    ? `No judge is asked. To add ${DEFAULT_JUDGED_SCORERS.join(' and ')}: SPANSCORE_JUDGE=openai/gpt-5-mini`
    : `${DEFAULT_JUDGED_SCORERS.join(' and ')} asks ${judge}, for at most ${DEFAULT_BUDGET_USD_PER_DAY} USD a day (rules[].budget.perDay)`;
}
