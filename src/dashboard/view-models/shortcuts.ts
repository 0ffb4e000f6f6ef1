import { LABEL_KEYS } from './review.ts';
import type { PagePath } from '../../api/dashboard/page-paths.ts';

/** Pages of the menu, in its order: the work of each day, then what is set up once. */
export const MENU = [
  { path: '/', name: 'Home', key: 'h' },
  { path: '/agents', name: 'Agents', key: 'a' },
  { path: '/issues', name: 'Issues', key: 'i' },
  { path: '/traces', name: 'Traces', key: 't' },
  { path: '/sessions', name: 'Sessions', key: 's' },
  { path: '/alerts', name: 'Alerts', key: 'l' },
  { path: '/review', name: 'Review', key: 'v' },
] as const satisfies readonly Entry[];

/** Pages of the menu Set-up. */
export const SET_UP = [
  { path: '/rules', name: 'Rules', key: 'r' },
  { path: '/judges', name: 'Judges and cost', key: 'j' },
  { path: '/coverage', name: 'Coverage', key: 'c' },
  { path: '/backfills', name: 'Backfills', key: 'b' },
  { path: '/status', name: 'Status', key: 'u' },
] as const satisfies readonly Entry[];

interface Entry {
  readonly path: PagePath;
  readonly name: string;
  readonly key: string;
}

const ENTRIES: readonly Entry[] = [...MENU, ...SET_UP];

/** Key that begins the way to a page. */
export const GO = 'g';

/** Shortcuts with what they do. */
export const SHORTCUTS: readonly (readonly [keys: string, does: string])[] = [
  ['?', 'Show this list'],
  ...ENTRIES.map(({ key, name }) => [`${GO} ${key}`, `Go to ${name}`] as const),
  ['/', 'Go to the search'],
  ['j', 'Next row of a list'],
  ['k', 'Previous row of a list'],
  ['Enter', 'Open the row'],
  ['↑ ↓', 'Previous or next step of a trace'],
  ['← →', 'Close or open a step of a trace'],
  ...LABEL_KEYS.map(({ key, does }) => [key, `While labelling: ${does.toLowerCase()}`] as const),
  ['Esc', 'Close a dialog or a menu, or leave a note'],
];

/** Action of a key: go to a page, wait for the second key of a pair, or one of the others. */
export type KeyAction =
  | { readonly kind: 'go'; readonly path: PagePath }
  | { readonly kind: 'wait' }
  | { readonly kind: 'help' | 'search' | 'next' | 'previous' };

const ACTIONS: Readonly<Record<string, KeyAction>> = {
  [GO]: { kind: 'wait' },
  '?': { kind: 'help' },
  '/': { kind: 'search' },
  j: { kind: 'next' },
  k: { kind: 'previous' },
};

/** Finds what a key does after the key before it; undefined for other keys. */
export function findAction(key: string, before: string | undefined): KeyAction | undefined {
  const page = before === GO ? ENTRIES.find((entry) => entry.key === key) : undefined;
  return before !== GO ? ACTIONS[key] : page && { kind: 'go', path: page.path };
}
