import { readFileSync } from 'node:fs';

/** Returns the version of this package, also when it runs from source or from `dist`. */
export function packageVersion(): string {
  for (const path of ['../../package.json', '../../../package.json']) {
    const version = versionIn(new URL(path, import.meta.url));
    if (version !== undefined) {
      return version;
    }
  }
  return 'unknown';
}

function versionIn(url: URL): string | undefined {
  let text: string;
  try {
    text = readFileSync(url, 'utf8');
  } catch {
    return undefined;
  }
  const content = JSON.parse(text) as { name?: unknown; version?: unknown };
  return content.name === 'spanscore' && typeof content.version === 'string' ? content.version : undefined;
}
