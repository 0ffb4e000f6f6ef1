import { isObject } from './unknown-values.ts';

/** Longest question of an own judge, in characters. */
export const ASK_CHARS = 4_000;

/** Most examples beside a question, and most answers to choose from. */
export const [ASK_EXAMPLES, MOST_CHOICES] = [20, 100];

/** Version of a scorer that chooses among options: its label is the result, and its scores have no mean. */
export const CHOICE_VERSION = 'choice';

export type AskedAnswer =
  | { readonly type: 'boolean'; readonly good?: boolean | undefined }
  /** Levels from the worst to the best, each a name, or a name, a colon and its meaning. */
  | { readonly type: 'score'; readonly levels: readonly string[] }
  /** Options by name, each with its meaning. */
  | { readonly type: 'choice'; readonly options: Readonly<Record<string, string>> };

/** A text, or a run by its trace, with its right answer. */
export interface AskedExample {
  readonly text?: string | undefined;
  readonly traceId?: string | undefined;
  readonly answer: boolean | string;
}

export interface Choice {
  readonly name: string;
  readonly meaning: string;
}

/** Lists the possible answers; of a scale, the worst first. */
export function listChoices(answer: AskedAnswer): Choice[] {
  if (answer.type === 'choice') {
    return Object.entries(answer.options).map(([name, meaning]) => ({ name, meaning }));
  }
  const levels = answer.type === 'score' ? answer.levels : ['false', 'true'];
  return levels.map((level) => {
    const [name = '', ...rest] = level.split(':');
    return { name: name.trim(), meaning: rest.join(':').trim() };
  });
}

/** Returns true for a kind of answer with at least two answers of different names. */
export function isAskedAnswer(value: unknown): value is AskedAnswer {
  if (!isObject(value)) {
    return false;
  }
  const { type, good, levels, options } = value;
  if (type === 'boolean') {
    return good === undefined || typeof good === 'boolean';
  }
  const isListed =
    (type === 'score' && isTextList(levels)) ||
    (type === 'choice' && isObject(options) && isTextList(Object.values(options)));
  return isListed && findChoiceFault(value as AskedAnswer) === undefined;
}

/** Says what is wrong with the names of the answers; undefined for sound ones. */
export function findChoiceFault(answer: AskedAnswer): string | undefined {
  const names = listChoices(answer).map(({ name }) => name.toLowerCase());
  if (names.length < 2) {
    return 'needs at least two';
  }
  if (names.includes('')) {
    return 'has one without a name';
  }
  const twin = names.find((name, index) => names.indexOf(name) < index);
  if (twin !== undefined) {
    return `has ${twin} twice`;
  }
  return names.length > MOST_CHOICES
    ? `has ${names.length}; at most ${MOST_CHOICES} can be asked`
    : undefined;
}

/** Finds the first example whose answer is none of the possible ones. */
export function findExampleFault({
  answer = { type: 'boolean' },
  examples = [],
}: {
  readonly answer?: AskedAnswer | undefined;
  readonly examples?: readonly AskedExample[] | undefined;
}): { readonly index: number; readonly message: string } | undefined {
  const names = listChoices(answer).map(({ name }) => name);
  const wrong = examples.findIndex((example) => !names.includes(String(example.answer)));
  return wrong < 0
    ? undefined
    : {
        index: wrong,
        message: `is ${JSON.stringify(examples[wrong]?.answer)}; it must be one of ${names.join(', ')}`,
      };
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
