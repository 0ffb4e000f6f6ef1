import { signal } from '@preact/signals';

/** Time between two renewals of what a page shows, milliseconds. */
const RENEW_EVERY_MS = 15_000;

/** Time between two questions while the server is gone, milliseconds. */
const ASK_AGAIN_MS = 5_000;

/** Time after the last touch of a choice in which it may still be open, milliseconds. */
const CHOICE_MS = 10_000;

/** Number of renewals; a change makes pages load again, quietly. */
export const renewals = signal(0);

/** Time of the latest answer of the server, Unix milliseconds. */
export const answeredAtMs = signal(Date.now());

/** True since a request got no answer, until one gets an answer. */
export const isServerGone = signal(false);

/** The present, Unix milliseconds, by the second. */
export const nowMs = signal(Date.now());

/** True while a person selects or types: nothing moves under the hands. */
export const isPaused = signal(false);

let renewedAtMs = Date.now();
let touchedAtMs = 0;

/** Notes an answer of the server. The first one after a silence renews the page at once. */
export function noteAnswer(): void {
  answeredAtMs.value = Date.now();
  if (isServerGone.peek()) {
    isServerGone.value = false;
    renewals.value += 1;
  }
}

/**
 * Starts the clock of renewals.
 * @param ask asks the server for something small: it runs also while the page is paused, so that a silence is seen
 */
export function startRenewals(ask: () => void): void {
  for (const type of ['pointerdown', 'keydown']) {
    document.addEventListener(type, ({ target }) => {
      touchedAtMs = target instanceof HTMLSelectElement ? Date.now() : touchedAtMs;
    });
  }
  setInterval(() => {
    nowMs.value = Date.now();
    isPaused.value = isBusy();
    const every = isServerGone.peek() ? ASK_AGAIN_MS : RENEW_EVERY_MS;
    if (document.hidden || nowMs.peek() - renewedAtMs < every) {
      return;
    }
    renewedAtMs = nowMs.peek();
    ask();
    if (!isPaused.peek() && !isServerGone.peek()) {
      renewals.value += 1;
    }
  }, 1_000);
}

function isBusy(): boolean {
  const active = document.activeElement;
  return (
    getSelection()?.isCollapsed === false ||
    active?.matches('textarea, input:not([type="checkbox"], [type="radio"])') === true ||
    (active instanceof HTMLSelectElement && Date.now() - touchedAtMs < CHOICE_MS)
  );
}
