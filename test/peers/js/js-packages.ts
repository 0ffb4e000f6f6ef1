import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Packages of the JavaScript agents. */
export const JS_PACKAGES = fileURLToPath(new URL('node_modules', import.meta.url));

/** Reason why no JavaScript agent can run here; undefined when the packages are installed. */
export const noJsPackages = existsSync(JS_PACKAGES)
  ? undefined
  : 'the JavaScript peers are not installed; run: npm ci --prefix test/peers/js';

/** Returns the path of an agent's program. */
export function emitterFile(script: string): string {
  return fileURLToPath(new URL(`emitters/${script}.mjs`, import.meta.url));
}
