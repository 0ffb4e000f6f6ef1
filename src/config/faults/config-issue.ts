import { ConfigError } from '../../domain/errors.ts';
import { showPath, type KeyPath } from '../key-path.ts';

/** Line and column of a file, both from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** One fault of a configuration: its path, and a message with the text to write instead. */
export interface ConfigIssue {
  readonly path: KeyPath;
  readonly message: string;
  /** Values from which the issue is concluded. The issue is dropped when one of them is faulty itself. */
  readonly dependsOn?: readonly KeyPath[];
  /** True when the value alone is wrong, independent of other values. */
  readonly isAboutOneValue?: boolean;
  /** Place in another file, or of a syntax fault. Undefined: the place of the path in the configuration. */
  readonly origin?: Origin;
}

/** Returns the issue when there is one, else none. */
export function issueIf(
  isFault: boolean,
  path: KeyPath,
  message: string,
  ...dependsOn: readonly KeyPath[]
): ConfigIssue[] {
  return isFault ? [{ path, message, dependsOn }] : [];
}

/** Origin of a value, for messages and for `config print --resolved`. */
export interface Origin {
  readonly kind: 'default' | 'file' | 'environment' | 'flag';
  /** `spanscore.config.yaml:12`, `SPANSCORE_STORE_URL`, `--set store.url`, or ''. */
  readonly where: string;
  /** Like `where`, with the column. */
  readonly place?: string;
  /** Absolute path of the file that holds the value. */
  readonly file?: string;
  readonly position?: Position | undefined;
}

/** Issue as `check-config --json` prints it. */
export interface ReportedIssue {
  readonly file: string | null;
  readonly line: number | null;
  readonly column: number | null;
  readonly source: Origin['kind'];
  readonly path: string;
  readonly message: string;
}

/** Creates one error with all issues, one on each line: place, path, message. Issues of a file keep its order. */
export function createConfigError(
  subject: string,
  issues: readonly ConfigIssue[],
  findOrigin: (path: KeyPath) => Origin = () => ({ kind: 'default', where: '' }),
): ConfigError {
  const placed = issues.map((issue) => ({ issue, origin: issue.origin ?? findOrigin(issue.path) }));
  const files = [...new Set(placed.map(({ origin }) => origin.file ?? ''))];
  const sorted = placed.toSorted(
    (a, b) =>
      files.indexOf(a.origin.file ?? '') - files.indexOf(b.origin.file ?? '') ||
      (a.origin.position?.line ?? 0) - (b.origin.position?.line ?? 0) ||
      (a.origin.position?.column ?? 0) - (b.origin.position?.column ?? 0),
  );
  const lines = [...new Set(sorted.map(({ issue, origin }) => showIssue(issue, origin)))];
  const message =
    lines.length === 1 && lines[0] !== undefined
      ? lines[0]
      : `${subject} cannot be used; it has ${lines.length} faults\n${lines.map((line) => `  ${line}`).join('\n')}`;
  return new ConfigError(message, { issues: sorted.map(({ issue, origin }) => reportIssue(issue, origin)) });
}

/** Returns the issues of an error of `createConfigError`; empty for any other error. */
export function reportedIssues(error: unknown): readonly ReportedIssue[] {
  const issues = error instanceof ConfigError ? error.details['issues'] : undefined;
  return Array.isArray(issues) ? (issues as ReportedIssue[]) : [];
}

function showIssue({ path, message }: ConfigIssue, { where, place = where, position }: Origin): string {
  // A syntax fault has a place and no path.
  const shownPath = path.length === 0 && position !== undefined ? '' : showPath(path);
  return [place, shownPath, message].filter((part) => part !== '').join(': ');
}

function reportIssue({ path, message }: ConfigIssue, { kind, file, position }: Origin): ReportedIssue {
  return {
    file: file ?? null,
    line: position?.line ?? null,
    column: position?.column ?? null,
    source: kind,
    path: path.length === 0 ? '' : showPath(path),
    message,
  };
}
