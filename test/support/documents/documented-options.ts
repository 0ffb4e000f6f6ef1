import { type Config, loadConfig } from '../../../src/config/index.ts';
import { folderWith } from '../builders/config-files.ts';
import { CONFIGURATION_EXAMPLES } from './configuration-examples.ts';

/** The value of every secret of an example. */
export const EXAMPLE_SECRET = 'a-secret-of-16-chars';

/** A part of each address that `loadDocumented` leads elsewhere: like a key of a web hook, it may never be shown. */
export const SECRET_PATH = 'secret-path-of-the-hook';

/** The variables that an example names. */
export function exampleVariables(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/\$\{env:(\w+)/g)].map(([, name = '']) => [
      name,
      name.endsWith('_HOOK') ? 'https://hooks.example.com/x' : EXAMPLE_SECRET,
    ]),
  );
}

/** The documented example of a part of the configuration, with every web address led to `url`. */
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
