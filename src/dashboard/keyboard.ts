import { signal } from '@preact/signals';
import { BASE_PATH } from './base-path.ts';
import { framed, push } from './router.ts';
import { findAction, GO, type KeyAction } from './view-models/shortcuts.ts';

/** True while the list of shortcuts is shown. */
export const isHelpOpen = signal(false);

/** Longest time between the two keys of a pair, milliseconds. */
const PAIR_LIMIT_MS = 1_500;

const ROW_LINKS = '[data-row-link]';

/** Listens for the shortcuts of all pages. */
export function startKeyboard(): void {
  let before: { key: string; atMs: number } | undefined;
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isWriting(event.target)) {
      return;
    }
    const isPair = before !== undefined && event.timeStamp - before.atMs < PAIR_LIMIT_MS;
    const action = findAction(event.key, isPair ? before?.key : undefined);
    before = action?.kind === 'wait' ? { key: GO, atMs: event.timeStamp } : undefined;
    if (action !== undefined && action.kind !== 'wait') {
      event.preventDefault();
      act(action);
    }
  });
}

function act(action: Exclude<KeyAction, { kind: 'wait' }>): void {
  switch (action.kind) {
    case 'go':
      push(BASE_PATH + framed(action.path));
      break;
    case 'help':
      isHelpOpen.value = true;
      break;
    case 'search':
      document.querySelector<HTMLElement>('input[type="search"]')?.focus();
      break;
    case 'next':
      moveRow(1);
      break;
    case 'previous':
      moveRow(-1);
      break;
  }
}

/** Returns true for a field that keys write into. */
export function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/u.test(target.tagName))
  );
}

function moveRow(step: number): void {
  const links = [...document.querySelectorAll<HTMLElement>(ROW_LINKS)];
  const current = links.indexOf(document.activeElement as HTMLElement);
  const next = current === -1 ? (step > 0 ? 0 : links.length - 1) : current + step;
  links[Math.max(0, Math.min(next, links.length - 1))]?.focus();
}
