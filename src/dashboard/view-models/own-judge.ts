import { SEEN_KINDS, type SeenKind } from '../../domain/score.ts';
import type { AskedAnswer } from '../../domain/asked-answer.ts';
import type { Writes } from '../api-types.ts';
import { writeYaml } from './write-yaml.ts';

/** Question as `POST /score` takes it. */
type Asked = NonNullable<Writes['POST /score']['body']['ask']>;

/** Judge of one's own, as its form holds it. */
export interface JudgeDraft {
  readonly name: string;
  readonly ask: string;
  readonly type: AskedAnswer['type'];
  /** Answer that is good, of a question with yes or no. */
  readonly good: boolean;
  /** Levels from the worst to the best, or options; one a line, with its meaning after a colon. */
  readonly choices: Readonly<Record<'score' | 'choice', string>>;
  readonly sees: readonly SeenKind[];
  /** '' for the default one. */
  readonly judge: string;
  /** Rule that runs it; '' for none. */
  readonly rule: string;
}

/** Form to begin with. */
export const NEW_JUDGE: JudgeDraft = {
  name: '',
  ask: '',
  type: 'boolean',
  good: true,
  choices: {
    score: 'useless: no help\npartly: some help\nsolves it: nothing is missing',
    choice: 'refund: money back\ninvoice: a bill\nother: anything else',
  },
  sees: SEEN_KINDS,
  judge: '',
  rule: '',
};

/** Kinds of answers, in words. */
export const ANSWER_TYPES: readonly (readonly [type: AskedAnswer['type'], words: string])[] = [
  ['boolean', 'yes or no'],
  ['score', 'levels'],
  ['choice', 'one of several'],
];

/** Builds the question as a scorer's entry and `POST /score` have it. */
export function buildAsked({ ask, type, good, choices, sees, judge }: JudgeDraft): Asked {
  const lines = type === 'boolean' ? [] : listLines(choices[type]);
  return {
    ask: ask.trim(),
    answer:
      type === 'boolean'
        ? { type, good }
        : type === 'score'
          ? { type, levels: lines }
          : { type, options: Object.fromEntries(lines.map(readOption)) },
    ...(sees.length === SEEN_KINDS.length ? {} : { sees: [...sees] }),
    ...(judge === '' ? {} : { judge }),
  };
}

function listLines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function readOption(line: string): [name: string, meaning: string] {
  const [name = '', ...rest] = line.split(':');
  return [name.trim(), rest.join(':').trim()];
}

/** Names that a scorer may have. */
const NAME = /^[a-z][\w-]*$/iu;

/** Says what a draft lacks before it can be stored; undefined when nothing does. */
export function findFault({ name, ask, sees }: JudgeDraft): string | undefined {
  if (ask.trim() === '') {
    return 'write the question';
  }
  if (sees.length === 0) {
    return 'let the judge see a part of the run';
  }
  return NAME.test(name) ? undefined : 'give it a name of letters, digits and hyphens';
}

/** Lists the changes of the configuration that put a judge in force. */
export function listChanges(
  draft: JudgeDraft,
  rules: readonly { readonly rule: string; readonly scorers: readonly string[] }[],
) {
  const { name, rule } = draft;
  const scorers = rules.find((each) => each.rule === rule)?.scorers;
  return [
    { path: `scorers.${name}`, value: buildAsked(draft) },
    ...(scorers === undefined
      ? []
      : [{ path: `rules.${rule}.scorers`, value: [...new Set([...scorers, name])] }]),
  ];
}

/** Writes a judge as YAML for the configuration. */
export function judgeYaml(draft: JudgeDraft): string {
  return writeYaml({ scorers: { [draft.name === '' ? 'my-judge' : draft.name]: buildAsked(draft) } });
}
