import { signal } from '@preact/signals';

/** True after a request was refused for its sender: the sign-in form takes the place of the page. */
export const isSignedOut = signal(false);

/** Number of sign-ins; a change makes every page load again. */
export const signIns = signal(0);
