import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const PACKAGE = 'spanscore';
const isSource = import.meta.url.endsWith('.ts');
/** Root of the package: source files and build output are at different depths, `src/guests/` and `dist/src/guests/`. */
const root = new URL(isSource ? '../../' : '../../../', import.meta.url);

/**
 * Resolves every import of `spanscore` in this process to the running package, even when the importing file has no copy beside
 * it. A second copy would not know the judges of this process.
 */
export function resolveOwnPackage(): void {
  const entries = readEntries();
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const isOwn = specifier === PACKAGE || specifier.startsWith(`${PACKAGE}/`);
      const url = isOwn ? entries.get(`.${specifier.slice(PACKAGE.length)}`) : undefined;
      return url === undefined
        ? nextResolve(specifier, context)
        : {
            url,
            format: url.endsWith('.json') ? 'json' : isSource ? 'module-typescript' : 'module',
            shortCircuit: true,
          };
    },
  });
}

/** Reads the file of every entry point from the package's `exports`. */
function readEntries(): Map<string, string> {
  const { exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
    exports: Record<string, string | { default: string }>;
  };
  return new Map(
    Object.entries(exports).map(([name, entry]) => {
      const built = typeof entry === 'string' ? entry : entry.default;
      const file = isSource ? built.replace('./dist/', './').replace(/\.js$/, '.ts') : built;
      return [name, new URL(file, root).href];
    }),
  );
}
