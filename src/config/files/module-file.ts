import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError, readErrorMessage } from '../../domain/errors.ts';

/** Imports a configuration module. Throws a `ConfigError` when it cannot be loaded or exports no configuration. */
export async function readModuleFile(path: string): Promise<unknown> {
  const name = basename(path);
  if (/\.m?ts$/.test(path) && process.features.typescript === false) {
    throw new ConfigError(
      `${name}: this Node (${process.version}) cannot load TypeScript: use Node 22.18 or later, or write spanscore.config.yaml`,
    );
  }
  let module: { default?: unknown };
  try {
    module = (await import(pathToFileURL(path).href)) as { default?: unknown };
  } catch (cause) {
    throw new ConfigError(
      `${placeOfFailure(cause, path) ?? name} cannot be loaded: ${readErrorMessage(cause)}`,
      { path },
      cause,
    );
  }
  const value = await module.default;
  if (value === null || typeof value !== 'object') {
    throw new ConfigError(
      `${name} must have the configuration as its default export: export default defineConfig({ … })`,
    );
  }
  return value;
}

/** Returns `name:line` of the statement that threw, or of the syntax fault, from the stack of the error. */
function placeOfFailure(cause: unknown, path: string): string | undefined {
  const stack = cause instanceof Error ? (cause.stack ?? '') : '';
  const lines = [pathToFileURL(path).href, path].flatMap((name) => {
    const [, after] = stack.split(`${name}:`);
    return /^\d+/.exec(after ?? '') ?? [];
  });
  return lines[0] === undefined ? undefined : `${basename(path)}:${lines[0]}`;
}
