import { LABEL_KEYS } from './label-keys.ts';
import type { PagePath } from '../../api/dashboard/page-paths.ts';

/** Pages of the menu, in its order. */
export const MENU = [
  { path: '/', name: 'Overview', key: 'o' },
  { path: '/traces', name: 'Traces', key: 't' },
  { path: '/coverage', name: 'Coverage', key: 'c' },
  { path: '/alerts', name: 'Alerts', key: 'a' },
  { path: '/judges', name: 'Judges', key: 'j' },
  { path: '/rules', name: 'Rules', key: 'r' },
  { path: '/compare', name: 'Compare', key: 'm' },
  { path: '/labels', name: 'Labels', key: 'l' },
  { path: '/backfills', name: 'Backfills', key: 'b' },
  { path: '/status', name: 'Status', key: 's' },
] as const satisfies readonly { path: PagePath; name: string; key: string }[];

/** Key that begins the way to a page. */
export const GO = 'g';

/** Shortcuts with what they do. */
export const SHORTCUTS: readonly (readonly [keys: string, does: string])[] = [
  ['?', 'Show this list'],
  ...MENU.map(({ key, name }) => [`${GO} ${key}`, `Go to ${name}`] as const),
  ['/', 'Go to the first field of the filter'],
  ['j', 'Next row of a list'],
  ['k', 'Previous row of a list'],
  ['Enter', 'Open the row'],
  ['↑ ↓', 'Previous or next step of a trace'],
  ['← →', 'Close or open a step of a trace'],
  ...LABEL_KEYS.map(({ key, does }) => [key, `While labelling: ${does.toLowerCase()}`] as const),
  ['Esc', 'Close a dialog, or leave a note'],
];

/** Action of a key: go to a page, wait for the second key of a pair, or one of the others. */
export type KeyAction =
  | { readonly kind: 'go'; readonly path: PagePath }
  | { readonly kind: 'wait' }
  | { readonly kind: 'help' }
  | { readonly kind: 'filter' }
  | { readonly kind: 'next' }
  | { readonly kind: 'previous' };

/** Finds what a key does after the key before it; undefined for other keys. */
export function findAction(key: string, before: string | undefined): KeyAction | undefined {
  if (before === GO) {
    const page = MENU.find((entry) => entry.key === key);
    return page === undefined ? undefined : { kind: 'go', path: page.path };
  }
  switch (key) {
    case GO:
      return { kind: 'wait' };
    case '?':
      return { kind: 'help' };
    case '/':
      return { kind: 'filter' };
    case 'j':
      return { kind: 'next' };
    case 'k':
      return { kind: 'previous' };
    default:
      return undefined;
  }
}
