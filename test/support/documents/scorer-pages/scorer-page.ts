import { PREBUILT_SCORERS } from '../../../../src/components.ts';

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

/** The page of a scorer that rules can name; `beside` says which of its options are arguments beside the others. */
export function pageOf(
  name: string,
  {
    beside = [],
    ...told
  }: Omit<ScorerPage, 'rule' | 'measures' | 'given' | 'options' | 'title'> & {
    readonly title?: string;
    readonly beside?: readonly string[];
  },
): ScorerPage {
  const definition = PREBUILT_SCORERS.find((scorer) => scorer.name === name);
  if (definition === undefined) {
    throw new Error(`${name} is no scorer of src/components.ts`);
  }
  const meanings = Object.entries(definition.options).map(([option, { means }]) => [option, means] as const);
  const given = meanings.filter(([option]) => beside.includes(option));
  return {
    title: name,
    ...told,
    rule: name,
    measures: definition.measures,
    ...(given.length === 0 ? {} : { given: Object.fromEntries(given) }),
    options: Object.fromEntries(meanings.filter(([option]) => !beside.includes(option))),
  };
}

/** The judge of the examples. */
export const EXAMPLE_JUDGE = "'openai/gpt-5-mini'";

export const COSTS = {
  two: '2 questions, 3 with an explanation by the judge; 1 where the first finds no statements, 0 for an empty answer',
  one: '1 question, 2 with an explanation by the judge; 0 where there is nothing to judge',
  verdict: "1 question, 2 with `reason: 'judge'`; 0 where there is nothing to judge",
  none: 'no question: no judge is asked',
} as const;

export const NEVER = 'cannot be: it is 0 or 1';
