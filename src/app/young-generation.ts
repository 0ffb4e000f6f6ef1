import { setFlagsFromString } from 'node:v8';

/**
 * Keeps the young generation of the heap small in a process that only serves the API. By default V8 lets it grow to 128 MiB, and the
 * garbage of pages fills that. V8 reads this flag at each growth; its flag for the largest size counts only on the command line. During a
 * collection V8 may use some 10 MiB more for a moment, and 24 MiB were seen on a busy machine.
 */
export function limitYoungGeneration(roles: readonly string[]): void {
  if (roles.every((role) => role === 'api')) {
    setFlagsFromString('--semi-space-growth-factor=1');
  }
}
