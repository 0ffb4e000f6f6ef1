import { ConfigError } from '../domain/errors.ts';
import { showPath, type KeyPath } from './key-path.ts';

/** One thing that is wrong with a configuration: where, what, and what to write instead. */
export interface ConfigIssue {
  readonly path: KeyPath;
  readonly message: string;
}

/** Where a value came from, for messages and for `config print --resolved`. */
export interface Origin {
  readonly kind: 'default' | 'file' | 'environment' | 'flag';
  /** `spanscore.config.yaml:12`, `SPANSCORE_STORE_URL`, `--set store.url`, or ''. */
  readonly where: string;
}

/** Puts all issues into one error, a line each: place, path, message. */
export function configErrorOf(
  subject: string,
  issues: readonly ConfigIssue[],
  originOf: (path: KeyPath) => Origin,
): ConfigError {
  const lines = issues.map((issue) => {
    const origin = originOf(issue.path);
    const place = origin.where === '' ? '' : `${origin.where}: `;
    return `${place}${showPath(issue.path)}: ${issue.message}`;
  });
  const unique = [...new Set(lines)];
  const message =
    unique.length === 1 && unique[0] !== undefined
      ? unique[0]
      : `${subject} cannot be used; ${unique.length} things are wrong\n${unique.map((line) => `  ${line}`).join('\n')}`;
  return new ConfigError(message, {
    issues: issues.map((issue) => ({ path: showPath(issue.path), message: issue.message })),
  });
}
