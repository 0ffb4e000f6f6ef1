import { readFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

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

/** Returns the folder of the built dashboard. The published package has it; in a checkout, it has to be built. */
export function dashboardFolder(): string {
  return fileURLToPath(new URL('dist/dashboard', packageRoot()));
}

/** Returns true when there is a built dashboard. */
export function isDashboardBuilt(): boolean {
  return existsSync(join(dashboardFolder(), 'index.html'));
}
