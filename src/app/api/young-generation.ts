import { setFlagsFromString } from 'node:v8';

/**
 * Keeps the young generation of the heap at its present size in a process that only serves the API. By default V8 lets it grow to 128 MiB,
 * and the garbage of pages fills that. V8 reads this flag at each growth; its flag for the largest size counts only on the command line.
 */
export function limitYoungGeneration(roles: readonly string[]): void {
  if (roles.every((role) => role === 'api')) {
    setFlagsFromString('--semi-space-growth-factor=1');
  }
}
