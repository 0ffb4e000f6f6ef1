import { PREBUILT_SCORERS } from '../../../src/components.ts';

/** Facts of a scorer for `docs/scorers.md` that are not in its code. */
export interface ScorerPage {
  /** The heading. */
  readonly title: string;
  /** Name of the scorer in rules, if rules can name it. */
  readonly rule?: string;
  /**
   * Arguments of the factory. `judged`: `{ model, …, options }`. `code`: the options. `check`: the text or pattern to find,
   * then the options.
   */
  readonly kind: 'judged' | 'code' | 'check';
  readonly measures: string;
  /** What the judge sees, for a judged scorer. */
  readonly input?: string;
  readonly formula: string;
  /** Arguments in addition to the options, by name. */
  readonly given?: Readonly<Record<string, string>>;
  /** All options by name. */
  readonly options: Readonly<Record<string, string>>;
  /** Number of questions to the judge about one run, without an explanation, for a judged scorer. */
  readonly questions?: 1 | 2;
  readonly factory: string;
  /** Arguments of the factory in the example, as source text. */
  readonly args: string;
  /** Reason of the example's score. */
  readonly because: string;
}

/** Builds the page of a scorer that rules can name. `beside` lists the options that are separate arguments of the factory. */
export function pageOf(
  name: string,
  {
    beside = [],
    ...facts
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
    ...facts,
    rule: name,
    measures: definition.measures,
    ...(given.length === 0 ? {} : { given: Object.fromEntries(given) }),
    options: Object.fromEntries(meanings.filter(([option]) => !beside.includes(option))),
  };
}

/** Judge of the examples. */
export const EXAMPLE_JUDGE = "'openai/gpt-5-mini'";
