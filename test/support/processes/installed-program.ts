import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { tellNotProved } from '../not-proved.ts';

/** Finds the first of some programs on the path. */
export function findProgram(...names: readonly string[]): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find((path) => existsSync(path));
}

/** Returns true where a program is installed. Where it is not, says loudly what is left out, and how to install it. */
export function hasProgram(name: string, use: string, installation: string): boolean {
  const isInstalled = findProgram(name) !== undefined;
  if (!isInstalled) {
    tellNotProved(use, `there is no ${name} here; ${installation}`);
  }
  return isInstalled;
}
