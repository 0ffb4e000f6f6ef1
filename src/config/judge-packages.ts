import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Finds the package of a judge provider beside spanscore or from a folder, without loading it. */
export function findPackage(name: string, folder: string | undefined): string | undefined {
  for (const from of [import.meta.url, ...(folder === undefined ? [] : [join(folder, 'package.json')])]) {
    try {
      return createRequire(from).resolve(name);
    } catch {
      // Looked for in the next place.
    }
  }
  return undefined;
}
