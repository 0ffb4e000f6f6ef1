import { readFileSync } from 'node:fs';

/** Places where the root of the package may be: it runs from source, or from `dist`. */
const ROOTS = ['../../', '../../../'].map((path) => new URL(path, import.meta.url));

/** Returns the version of this package, also when it runs from source or from `dist`. */
export function packageVersion(): string {
  return versionIn(packageRoot()) ?? 'unknown';
}

/** Returns the folder of this package. */
export function packageRoot(): URL {
  return ROOTS.find((root) => versionIn(root) !== undefined) ?? new URL('../../', import.meta.url);
}

function versionIn(root: URL): string | undefined {
  let text: string;
  try {
    text = readFileSync(new URL('package.json', root), 'utf8');
  } catch {
    return undefined;
  }
  const content = JSON.parse(text) as { name?: unknown; version?: unknown };
  return content.name === 'spanscore' && typeof content.version === 'string' ? content.version : undefined;
}
