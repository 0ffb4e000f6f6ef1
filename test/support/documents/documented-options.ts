import { type Config, loadConfig } from '../../../src/configuration.ts';
import { folderWith } from '../builders/config-files.ts';
import { CONFIGURATION_EXAMPLES } from '../../../tools/docs/configuration-examples.ts';

/** Value of every secret in an example. */
export const EXAMPLE_SECRET = 'a-secret-of-16-chars';

/**
 * Path of each address that `loadDocumented` replaces. It is a secret, like the key of a web hook, so it must not appear in
 * any output.
 */
export const SECRET_PATH = 'secret-path-of-the-hook';

/** Returns the environment variables of an example, with values. */
export function exampleVariables(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/\$\{env:(\w+)/g)].map(([, name = '']) => [
      name,
      name.endsWith('_HOOK')
        ? 'https://hooks.example.com/x'
        : name.endsWith('_TOKEN')
          ? `${name}-${EXAMPLE_SECRET}`
          : EXAMPLE_SECRET,
    ]),
  );
}

/** Loads the documented example of a part of the configuration, with `url` instead of every web address. */
export async function loadDocumented<Part extends 'alerts' | 'exporters'>(
  part: Part,
  url: string,
): Promise<Config[Part]> {
  const text = CONFIGURATION_EXAMPLES[part] ?? '';
  const cwd = folderWith({ 'spanscore.config.yaml': text });
  const { config } = await loadConfig({ cwd, variables: exampleVariables(text) });
  return replaceAddresses(config[part], `${url}/${SECRET_PATH}`) as Config[Part];
}

function replaceAddresses(value: unknown, url: string): unknown {
  if (typeof value === 'string') {
    return /^https?:/.test(value) ? url : value;
  }
  if (Array.isArray(value)) {
    return value.map((item) => replaceAddresses(item, url));
  }
  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaceAddresses(item, url)]))
    : value;
}
