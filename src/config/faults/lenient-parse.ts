import type { z } from 'zod';
import { exampleAt, type JsonSchemaNode } from '../json-schema.ts';
import { isAround, isSame, type KeyPath, valueAt, withValueAt } from '../key-path.ts';
import type { ConfigIssue } from './config-issue.ts';
import { listIssues, PARSE_TERMS, type SchemaIssue } from './schema-issues.ts';

/** A value parsed without its faulty parts. */
export interface LenientParse<T> {
  /** Undefined where nothing usable is left. */
  readonly parsed: T | undefined;
  readonly issues: readonly ConfigIssue[];
  /** Says whether a conclusion from these paths can be trusted, because none of them is faulty. */
  readonly isSound: (paths: readonly KeyPath[]) => boolean;
  /** The path in the value of a path in `parsed`, which lacks the faulty list items. */
  readonly writtenPath: (path: KeyPath) => KeyPath;
}

/** A value with several faulty parts is parsed again without them, this often at most. */
const MAX_ROUNDS = 20;

/**
 * Parses a value as far as it goes: each faulty part is reported and taken out, and the rest is parsed again, so that checks of
 * the rest can report their faults too.
 * @param unusable paths whose fault is reported already
 */
export function parseLeniently<Schema extends z.ZodType>(
  value: unknown,
  { schema, jsonSchema }: { readonly schema: Schema; readonly jsonSchema: JsonSchemaNode },
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
    const found = listIssues(result.error, { schema: jsonSchema, value: rest.value }).map((issue) => ({
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

/** A misspelt key is one fault: neither is the right one missing beside it, nor is its group wrong. */
function selectRealIssues(issues: readonly SchemaIssue[]): SchemaIssue[] {
  const meant = issues.flatMap((issue) => issue.meant ?? []);
  const isAboutMeant = (path: KeyPath) =>
    meant.some((other) => isAround(path, other) && other.length - path.length <= 1);
  return issues.filter(({ kind, path }) => kind === 'unknown' || !isAboutMeant(path));
}

/** A value from which faulty parts are taken out, one after the other. */
function createRemainder(value: unknown, schema: JsonSchemaNode, unusable: readonly KeyPath[]) {
  let written = value;
  let removed: readonly KeyPath[] = unusable;
  const doubtful: KeyPath[] = [...unusable];
  const filled = new Set<string>();

  /** Puts an example in the place of a missing key, once, so that the group around it can be checked. */
  function fill({ kind, path }: SchemaIssue): boolean {
    const example = kind === 'missing' ? exampleAt(path, schema) : undefined;
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
      // An unknown key says nothing of the others, but of the key that was meant.
      doubtful.push(...(issue.kind === 'unknown' ? (issue.meant ?? []) : [part]));
    },
  };
}

/** The part to take out: the faulty value; of a missing key, the group that lacks it. */
function chooseRemoval({ kind, path }: SchemaIssue, value: unknown, removed: readonly KeyPath[]): KeyPath {
  const isThere = (part: KeyPath) =>
    valueAt(value, part) !== undefined && !removed.some((other) => isSame(other, part));
  let length = kind === 'missing' ? path.length - 1 : path.length;
  while (length > 0 && !isThere(path.slice(0, length))) {
    length -= 1;
  }
  return path.slice(0, Math.max(0, length));
}

/** A copy of a value without the parts at some paths. */
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

/** The index in a list of the item that is at `index` once others are gone. */
function computeWrittenIndex(index: number, list: KeyPath, isGone: (path: KeyPath) => boolean): number {
  let written = -1;
  for (let kept = 0; kept <= index; kept += 1) {
    do {
      written += 1;
    } while (isGone([...list, written]));
  }
  return written;
}
