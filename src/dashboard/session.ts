import { signal } from '@preact/signals';

/** True after a request was refused for its sender: the sign-in form takes the place of the page. */
export const isSignedOut = signal(false);

/** Number of sign-ins; a change makes every page load again. */
export const signIns = signal(0);

/** Scopes of the reader: a button that needs another one is not shown. */
export const scopes = signal<readonly string[]>([]);

/** Returns true when the reader may use a button that needs a scope. */
export function mayUse(scope: 'ingest' | 'label' | 'admin'): boolean {
  return scopes.value.includes(scope);
}
