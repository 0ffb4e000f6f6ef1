import type { z } from 'zod';
import { exampleAt, type JsonSchemaNode } from '../json-schema.ts';
import { isAround, isSame, type KeyPath, valueAt, withValueAt } from '../key-path.ts';
import type { ConfigIssue } from './config-issue.ts';
import { listIssues, PARSE_TERMS, type SchemaIssue } from './schema-issues.ts';

/** A value parsed without its faulty parts. */
export interface LenientParse<T> {
  /** Undefined when no usable part is left. */
  readonly parsed: T | undefined;
  readonly issues: readonly ConfigIssue[];
  /** True when none of these paths is faulty, so that a conclusion from them can be trusted. */
  readonly isSound: (paths: readonly KeyPath[]) => boolean;
  /** Converts a path in `parsed`, which lacks the faulty list items, to the path in the original value. */
  readonly writtenPath: (path: KeyPath) => KeyPath;
}

/** Limit of parses of one value; each parse leaves out the faulty parts found before. */
const MAX_ROUNDS = 20;

/**
 * Parses the sound parts of a value. It reports and removes each faulty part and parses the rest again, so that checks of
 * the rest can report their faults too.
 * @param unusable paths whose fault is already reported
 */
export function parseLeniently<Schema extends z.ZodType>(
  value: unknown,
  { schema, jsonSchema }: { readonly schema: Schema; readonly jsonSchema: () => JsonSchemaNode },
  unusable: readonly KeyPath[] = [],
): LenientParse<z.infer<Schema>> {
  const remainder = createRemainder(value, jsonSchema, unusable);
  const { isSound } = remainder;
  const issues: ConfigIssue[] = [];
  for (let round = 0; round < MAX_ROUNDS && !remainder.isEmpty(); round++) {
    const rest = remainder.take();
    const result = schema.safeParse(rest.value, PARSE_TERMS);
    if (result.success) {
      return { parsed: result.data, issues, isSound, writtenPath: rest.writtenPath };
    }
    const found = listIssues(result.error, { schema: jsonSchema(), value: rest.value }).map((issue) => ({
      ...issue,
      path: rest.writtenPath(issue.path),
    }));
    issues.push(...selectRealIssues(found).filter(({ path }) => isSound([path])));
    for (const issue of found) {
      remainder.remove(issue);
    }
  }
  return { parsed: undefined, issues, isSound, writtenPath: (path) => path };
}

/**
 * Selects the real issues. A misspelt key is one fault: the missing right key and the wrong group beside it are not
 * reported.
 */
function selectRealIssues(issues: readonly SchemaIssue[]): SchemaIssue[] {
  const meant = issues.flatMap((issue) => issue.meant ?? []);
  const isAboutMeant = (path: KeyPath) =>
    meant.some((other) => isAround(path, other) && other.length - path.length <= 1);
  return issues.filter(({ kind, path }) => kind === 'unknown' || !isAboutMeant(path));
}

/** Creates a value from which faulty parts are removed one after the other. */
function createRemainder(value: unknown, jsonSchema: () => JsonSchemaNode, unusable: readonly KeyPath[]) {
  let written = value;
  let removed: readonly KeyPath[] = unusable;
  const doubtful: KeyPath[] = [...unusable];
  const filled = new Set<string>();

  /** Inserts an example for a missing key, once, so that the group around it can be checked. */
  function fill({ kind, path }: SchemaIssue): boolean {
    const example = kind === 'missing' ? exampleAt(path, jsonSchema()) : undefined;
    if (example === undefined || filled.has(JSON.stringify(path))) {
      return false;
    }
    filled.add(JSON.stringify(path));
    written = withValueAt(written, path, example);
    removed = removed.filter((other) => !isSame(other, path));
    return true;
  }

  return {
    isEmpty: () => removed.some((path) => path.length === 0),
    isSound: (paths: readonly KeyPath[]) =>
      !doubtful.some((doubt) => paths.some((path) => isAround(doubt, path) || isAround(path, doubt))),
    take: () => withoutPaths(written, removed),
    remove(issue: SchemaIssue): void {
      if (fill(issue)) {
        doubtful.push(issue.path);
        return;
      }
      const part = chooseRemoval(issue, written, removed);
      removed = [...removed, part];
      // An unknown key says nothing about the other keys, only about the key that was meant.
      doubtful.push(...(issue.kind === 'unknown' ? (issue.meant ?? []) : [part]));
    },
  };
}

/** Returns the part to remove: the faulty value, or for a missing key the group that lacks it. */
function chooseRemoval({ kind, path }: SchemaIssue, value: unknown, removed: readonly KeyPath[]): KeyPath {
  const isThere = (part: KeyPath) =>
    valueAt(value, part) !== undefined && !removed.some((other) => isSame(other, part));
  let length = kind === 'missing' ? path.length - 1 : path.length;
  while (length > 0 && !isThere(path.slice(0, length))) {
    length -= 1;
  }
  return path.slice(0, Math.max(0, length));
}

/** Returns a copy of a value without the parts at some paths. */
function withoutPaths(value: unknown, paths: readonly KeyPath[]) {
  const gone = new Set(paths.map((path) => JSON.stringify(path)));
  const isGone = (path: KeyPath) => gone.has(JSON.stringify(path));
  const copy = (part: unknown, path: KeyPath): unknown => {
    if (Array.isArray(part)) {
      return part.flatMap((item: unknown, index) =>
        isGone([...path, index]) ? [] : [copy(item, [...path, index])],
      );
    }
    if (part === null || typeof part !== 'object' || Object.getPrototypeOf(part) !== Object.prototype) {
      return part;
    }
    const members = Object.entries(part).filter(([key]) => !isGone([...path, key]));
    return Object.fromEntries(members.map(([key, member]) => [key, copy(member, [...path, key])]));
  };
  const writtenPath = (path: KeyPath) =>
    path.reduce<KeyPath>(
      (written, step) => [
        ...written,
        typeof step === 'number' ? computeWrittenIndex(step, written, isGone) : step,
      ],
      [],
    );
  return { value: copy(value, []), writtenPath };
}

/** Returns the original list index of the item that is at `index` after the removals. */
function computeWrittenIndex(index: number, list: KeyPath, isGone: (path: KeyPath) => boolean): number {
  let written = -1;
  for (let kept = 0; kept <= index; kept += 1) {
    do {
      written += 1;
    } while (isGone([...list, written]));
  }
  return written;
}
