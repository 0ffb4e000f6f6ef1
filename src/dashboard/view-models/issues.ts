import type { Issue, IssueName, Rate } from '../api-types.ts';
import type { Query } from './paths/fill-path.ts';
import { UNKNOWN } from './format.ts';
import { visibleText } from './visible-text.ts';

interface Shown {
  readonly sign: string;
  readonly tone: 'bad' | 'good' | 'quiet';
}

/** States of an issue: a colour never tells one alone. */
const STATES: Readonly<Record<Issue['state'], Shown>> = {
  new: { sign: '●', tone: 'bad' },
  ongoing: { sign: '·', tone: 'quiet' },
  escalating: { sign: '▲', tone: 'bad' },
  fading: { sign: '▼', tone: 'good' },
  resolved: { sign: '✓', tone: 'good' },
  regressed: { sign: '▲', tone: 'bad' },
  ignored: { sign: '–', tone: 'quiet' },
};

/** Finds the sign and the tone of a state. */
export function readState(state: Issue['state']): Shown {
  return STATES[state];
}

/** Kinds of failures in words. */
const KINDS: Readonly<Record<string, string>> = {
  claim: 'wrong claim',
  'tool-error': 'tool error',
  'tool-choice': 'wrong tool',
  loop: 'loop',
  answer: 'no useful answer',
  error: 'error',
  feedback: 'bad feedback',
  rule: 'below its bar',
};

/** Kinds to choose from, with their words. */
export const KIND_CHOICES = Object.entries(KINDS);

/** Writes a kind of failures in words. */
export function nameKind(kind: Issue['kind']): string {
  return KINDS[kind] ?? kind;
}

/** Writes the title of an issue without the signs of code; its kind while the title is made again. */
export function nameIssue({ title, kind }: Pick<IssueName, 'title' | 'kind'>): string {
  return title === '' ? nameKind(kind) : visibleText(title.replaceAll('`', ''));
}

/** States to choose from; '' are the open ones. */
export const STATE_CHOICES: readonly (readonly [value: string, name: string])[] = [
  ['', 'open'],
  ['all', 'all'],
  ...Object.keys(STATES).map((state) => [state, state] as const),
];

/** States that ask for nothing. */
const CLOSED: readonly string[] = ['resolved', 'ignored'];

/** Returns true for an issue of a choice of `STATE_CHOICES`. */
export function isOfState({ state }: Pick<Issue, 'state'>, choice: string): boolean {
  return choice === 'all' || (choice === '' ? !CLOSED.includes(state) : state === choice);
}

/** Share up to which a tenth of a percent counts. */
const SMALL = 0.1;

/** Writes a share with its 95 % interval; a small one with tenths: `2.1 % [1.4, 3.1]`. */
export function formatShare(rate: Rate | null): string {
  if (rate === null) {
    return UNKNOWN;
  }
  return `${percent(rate.value, rate)} % [${percent(rate.low, rate)}, ${percent(rate.high, rate)}]`;
}

function percent(part: number, { value }: Rate): string {
  return String(Number((100 * part).toFixed(value < SMALL ? 1 : 0)));
}

/** Filters of the bar that the routes of issues take. */
export function issueFilters(frame: Readonly<Record<string, readonly string[]>>): Query {
  const { since, until, agent, environment } = frame;
  return { since, until, agent, environment };
}

/** Writes how the proof of a fix stands; undefined without a version that mends the issue. */
export function describeProof(issue: Issue): string | undefined {
  const { verification } = issue;
  if (verification === undefined || verification === null) {
    return undefined;
  }
  const { state, version, before, since } = verification;
  const was = before === null ? UNKNOWN : `${percent(before.value, before)} %`;
  if (since === null) {
    return `mended in ${version}? No run of it yet; before ${was}`;
  }
  return state === 'verified'
    ? `verified in ${version}: ${was} → at most ${percent(since.high, since)} % (95 %)`
    : `${state === 'running' ? 'not decided yet' : 'not verified'} in ${version}: ${was} → ${formatShare(since)}`;
}
