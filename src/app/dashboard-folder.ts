import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from './package-version.ts';

/** Returns the folder of the built dashboard. The published package has it; in a checkout, it has to be built. */
export function dashboardFolder(): string {
  return fileURLToPath(new URL('dist/dashboard', packageRoot()));
}

/** Returns true when there is a built dashboard. */
export function isDashboardBuilt(): boolean {
  return existsSync(join(dashboardFolder(), 'index.html'));
}
