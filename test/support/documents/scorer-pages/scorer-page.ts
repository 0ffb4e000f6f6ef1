/** Facts of a scorer for `docs/scorers.md` that its code does not have. */
export interface ScorerPage {
  /** The heading. */
  readonly title: string;
  /** Its name in rules, where rules can name it. */
  readonly rule?: string;
  /** `judged` takes `{ model, …, options }`, `code` its options, `check` what it looks for and then its options. */
  readonly kind: 'judged' | 'code' | 'check';
  readonly measures: string;
  readonly when: string;
  readonly input: string;
  readonly formula: string;
  /** Arguments beside the options, by name. */
  readonly given?: Readonly<Record<string, string>>;
  /** Every option by name. */
  readonly options: Readonly<Record<string, string>>;
  /** Meaning of a 0.7. */
  readonly seven: string;
  /** Questions to the judge for one run. */
  readonly cost: string;
  readonly factory: string;
  /** The factory's arguments in the example, as they are written. */
  readonly args: string;
  /** Reason of the example's score. */
  readonly because: string;
}

/** The judge of the examples. */
export const EXAMPLE_JUDGE = "'openai/gpt-5-mini'";

export const COSTS = {
  two: '2 questions, 3 with an explanation by the judge; 1 where the first finds no statements, 0 for an empty answer',
  one: '1 question, 2 with an explanation by the judge; 0 where there is nothing to judge',
  verdict: "1 question, 2 with `reason: 'judge'`; 0 where there is nothing to judge",
  none: 'no question: no judge is asked',
} as const;

export const REASON =
  '`judge` (a further question, the default), `template` (a sentence made of the verdicts) or `false` (none, and verdicts without reasons)';
export const OWN_REASON =
  '`template` (a sentence made of the verdict, the default), `judge` or `false` (none, and verdicts without reasons)';
export const SCALE = 'the highest score, above 0 (1)';
export const NEVER = 'cannot be: it is 0 or 1';
