import { diff, isDeepStrictEqual } from 'node:util';
import {
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Node,
  parseDocument,
  stringify,
  type YAMLMap,
} from 'yaml';
import { RequestError } from '../../domain/errors.ts';
import { isRecord } from '../../domain/unknown-values.ts';
import { hideReferences, showReferences } from '../environment.ts';
import { type JsonSchemaNode, schemaNodesAt } from '../json-schema.ts';
import { type KeyPath, listLeaves, valueAt } from '../key-path.ts';
import { nameEntry, namePath } from '../revision.ts';

// Changes of single values in a configuration file. The text is cut where the value stands, so that every other line stays.

/** A value to set at a path whose entries of lists are named; null removes it. */
export interface AskedChange {
  readonly path: string;
  readonly value: unknown;
}

interface Change {
  readonly path: KeyPath;
  readonly value: unknown;
}

/**
 * Changes the text of a configuration file in YAML or JSON. Throws a `RequestError` for a change that cannot be written into it.
 * `forbidden`: paths that an apply must never change.
 */
export function changeConfigText(
  text: string,
  asked: readonly AskedChange[],
  { schema, isJson }: { readonly schema: JsonSchemaNode; readonly isJson: boolean },
) {
  const before = readValue(text);
  const after = asked.reduce((now, each) => {
    const change = resolveChange(each, readValue(now), schema);
    const changed = setInText(now, change, isJson);
    const expected = setInValue(readValue(now), change) ?? {};
    const got = readValueIfSound(changed);
    if (!isDeepStrictEqual(got, expected)) {
      throw new RequestError(
        `${each.path}: this place of the file cannot be changed by itself; edit the file, and reload`,
      );
    }
    return changed;
  }, text);
  return { text: after, forbidden: listForbidden(before, readValue(after)) };
}

/** Changes a value that was read from a module, to show what differs. */
export function changeConfigValue(value: unknown, asked: readonly AskedChange[], schema: JsonSchemaNode) {
  const after = asked.reduce((now, each) => setInValue(now, resolveChange(each, now, schema)) ?? {}, value);
  return { value: after, forbidden: listForbidden(value, after) };
}

function parse(text: string) {
  return parseDocument(hideReferences(text), { prettyErrors: false });
}

function readValue(text: string): unknown {
  return showReferences(parse(text).toJS() as unknown) ?? {};
}

function readValueIfSound(text: string): unknown {
  const document = parse(text);
  return document.errors.length > 0 ? undefined : (showReferences(document.toJS() as unknown) ?? {});
}

/** Lists the changed paths that an apply must never change: they could run code, or send content and secrets away. */
function listForbidden(before: unknown, after: unknown): string[] {
  const leaves = [...listLeaves(before), ...listLeaves(after)].filter(
    ({ path }) => !isDeepStrictEqual(valueAt(before, path), valueAt(after, path)),
  );
  const refused = leaves.filter(({ path, value }) => !mayChange(path, value, before, after));
  return [...new Set(refused.map(({ path }) => namePath(path, after)))];
}

function mayChange(path: KeyPath, value: unknown, before: unknown, after: unknown): boolean {
  const [section, name] = path;
  if (typeof value === 'string' && value.includes('${')) {
    return false;
  }
  if (section === 'scorers') {
    const entries = [before, after].map((root) => valueAt(root, path.slice(0, 2)));
    return entries.every((entry) => !isRecord(entry) || !('module' in entry || 'env' in entry));
  }
  // A text in this list names a file, which may be a module.
  const isFile = section === 'monitors' && path.length === 2 && typeof value === 'string';
  return (
    (section === 'judges' && name === 'prices') ||
    (['rules', 'monitors', 'budgets'].includes(String(section)) && !isFile)
  );
}

function resolveChange({ path, value }: AskedChange, root: unknown, schema: JsonSchemaNode): Change {
  const words = path.split('.');
  if (words.includes('')) {
    throw new RequestError(
      `path: ${JSON.stringify(path)} is no path of a key, like rules.production.sample.rate`,
    );
  }
  const found = findExisting(root, [], words);
  const entries = valueAt(root, found.path);
  const length = Array.isArray(entries) ? entries.length : 0;
  return (
    findNew({ path: found.path, value }, found.rest, { schema, length }) ?? {
      path: [...found.path, ...found.rest],
      value,
    }
  );
}

/** Follows the words as far as the value goes. A key may hold points: the longest way wins. */
function findExisting(
  value: unknown,
  path: KeyPath,
  words: readonly string[],
): { path: KeyPath; rest: readonly string[] } {
  let best = { path, rest: words };
  for (let count = 1; count <= words.length; count += 1) {
    const steps = findSteps(value, words.slice(0, count).join('.'));
    if (steps !== undefined) {
      const next = findExisting(valueAt(value, steps), [...path, ...steps], words.slice(count));
      best = next.rest.length < best.rest.length ? next : best;
    }
  }
  return best;
}

/** Finds a member by its key or its name. The groups of monitors, and their alerts, stand deeper. */
function findSteps(value: unknown, name: string): KeyPath | undefined {
  if (!Array.isArray(value)) {
    return isRecord(value) && Object.hasOwn(value, name) ? [name] : undefined;
  }
  const index = value.findIndex((entry: unknown) => nameEntry(entry) === name);
  if (index !== -1) {
    return [index];
  }
  const inner = value.flatMap((entry: unknown, at) =>
    ['groups', 'rules'].flatMap((key) => {
      const steps = isRecord(entry) ? findSteps(entry[key], name) : undefined;
      return steps === undefined || !Array.isArray((entry as Record<string, unknown>)[key])
        ? []
        : [[at, key, ...steps]];
    }),
  );
  return inner[0];
}

/**
 * Finds the path of new keys: the schema knows which words are one key. A new entry of a list gets its name. Undefined when the schema
 * knows no such keys.
 */
function findNew(
  { path, value }: Change,
  words: readonly string[],
  { schema, length }: { readonly schema: JsonSchemaNode; readonly length: number },
): Change | undefined {
  const [name, ...keys] = words;
  if (name === undefined) {
    return { path, value };
  }
  if (schemaNodesAt(path, schema).some((node) => node.items !== undefined)) {
    const inner = keys.reduceRight<unknown>((member, key) => ({ [key]: member }), value);
    const entry = isRecord(inner) && nameEntry(inner) === undefined ? { name, ...inner } : inner;
    return { path: [...path, length], value: value === null ? null : entry };
  }
  for (let count = 1; count <= words.length; count += 1) {
    const next = [...path, words.slice(0, count).join('.')];
    const isKnown = schemaNodesAt(next, schema).length > 0;
    const found = isKnown
      ? findNew({ path: next, value }, words.slice(count), { schema, length: 0 })
      : undefined;
    if (found !== undefined) {
      return found;
    }
  }
  return undefined;
}

/** Returns a copy of a value with a change; null removes the key, and a map or list that is empty then. */
function setInValue(root: unknown, { path, value }: Change): unknown {
  const [step, ...rest] = path;
  if (step === undefined) {
    return value;
  }
  if (typeof step === 'number') {
    const list = Array.isArray(root) ? (root as unknown[]) : [];
    const member = setInValue(list[step], { path: rest, value });
    const others = list.toSpliced(step, 1, ...(member === null ? [] : [member]));
    return others.length === 0 ? null : others;
  }
  const base = isRecord(root) ? root : {};
  const member = setInValue(base[step], { path: rest, value });
  const entries = Object.entries({ ...base, [step]: member }).filter(
    ([key]) => key !== step || member !== null,
  );
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

type Range = readonly [start: number, end: number];

/** Sets a value in a text, with the smallest change; null removes it. */
function setInText(text: string, { path, value }: Change, isJson: boolean): string {
  const { contents } = parse(text);
  if (value === null) {
    return removeFromText(text, path);
  }
  const known = path.findIndex((_, index) => !isNode(nodeAt(contents, path.slice(0, index + 1))));
  const depth = known === -1 ? path.length : known;
  const node = nodeAt(contents, path.slice(0, depth));
  const nested = path
    .slice(depth + 1)
    .reduceRight<unknown>((member, key) => (typeof key === 'number' ? [member] : { [key]: member }), value);
  if (depth === path.length) {
    const present = showReferences(isNode(node) ? node.toJS(parse(text)) : undefined);
    if (isMap(node) && isRecord(value) && isRecord(present)) {
      const keys = [...new Set([...Object.keys(present), ...Object.keys(value)])];
      return keys
        .filter((key) => !isDeepStrictEqual(present[key], value[key]))
        .reduce(
          (now, key) => setInText(now, { path: [...path, key], value: value[key] ?? null }, isJson),
          text,
        );
    }
    return replaceNode(text, node, value, isJson);
  }
  const isList = isSeq(node) || (!isMap(node) && typeof path[depth] === 'number');
  const added = isList ? [nested] : { [String(path[depth])]: nested };
  return (isMap(node) || isSeq(node)) && node.items.length > 0
    ? addMember(text, node, added, isJson)
    : replaceNode(text, node, added, isJson);
}

/** Returns the node at a path. An alias stands for a node of another place, so it has no path. */
function nodeAt(root: unknown, path: KeyPath): unknown {
  return path.reduce<unknown>((node, step) => {
    if (isMap(node)) {
      return (
        node.items.find((pair) => isScalar(pair.key) && showReferences(pair.key.value) === step)?.value ??
        undefined
      );
    }
    return isSeq(node) && typeof step === 'number' ? node.items[step] : undefined;
  }, root);
}

/** Returns the end of the last token of a node. The range of a block ends after the comments that follow it. */
function endOf(text: string, node: unknown): number {
  if (isPair(node)) {
    return endOf(text, node.value ?? node.key);
  }
  const last = (isMap(node) || isSeq(node)) && node.flow !== true ? node.items.at(-1) : undefined;
  if (last !== undefined) {
    return endOf(text, last);
  }
  const end = isNode(node) ? (node.range?.[1] ?? 0) : 0;
  return text.slice(0, end).trimEnd().length;
}

function startOf(node: unknown): number {
  return isPair(node) ? startOf(node.key) : isNode(node) ? (node.range?.[0] ?? 0) : 0;
}

function columnOf(text: string, offset: number): number {
  return offset - (text.lastIndexOf('\n', offset - 1) + 1);
}

function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end === -1 ? text.length : end;
}

function splice(text: string, [start, end]: Range, inserted: string): string {
  return text.slice(0, start) + inserted + text.slice(end);
}

/** Writes a value on one line. */
function writeFlow(value: unknown, isJson: boolean): string {
  if (isJson) {
    return JSON.stringify(value);
  }
  return stringify([value], { collectionStyle: 'flow', lineWidth: 0 }).trim().slice(1, -1).trim();
}

/** Writes a value on lines of its own, indented but for the first line. */
function writeBlock(value: unknown, column: number): string {
  return stringify(value, { lineWidth: 0 })
    .trimEnd()
    .replaceAll('\n', `\n${' '.repeat(column)}`);
}

function isCollection(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : isRecord(value) && Object.keys(value).length > 0;
}

/** Replaces a node in its own style: a block stays a block. */
function replaceNode(text: string, node: unknown, value: unknown, isJson: boolean): string {
  if (!isNode(node)) {
    const at = text.trimEnd().length;
    return `${splice(text, [at, text.length], `${at === 0 ? '' : '\n'}${writeBlock(value, 0)}`)}\n`;
  }
  const isEmpty = isScalar(node) && node.source === '';
  const isBlock = !isJson && (isMap(node) || isSeq(node)) && node.flow !== true;
  const range: Range = [startOf(node), Math.max(startOf(node), endOf(text, node))];
  if (isBlock && isCollection(value)) {
    return splice(text, range, writeBlock(value, columnOf(text, range[0])));
  }
  const written = writeFlow(value, isJson);
  if (isBlock || isEmpty) {
    const colon = text.slice(0, range[0]).trimEnd().length;
    return splice(text, [isBlock ? colon : range[0], range[1]], ` ${written}`);
  }
  return splice(text, range, written);
}

/** Adds members to a map or a list that has some. */
function addMember(text: string, node: Node & Pick<YAMLMap, 'flow'>, added: object, isJson: boolean): string {
  const items = isMap(node) || isSeq(node) ? node.items : [];
  const end = endOf(text, items.at(-1));
  if (isJson || node.flow === true) {
    const written = writeFlow(added, isJson).slice(1, -1).trim();
    const first = startOf(items[0]);
    const isOnLines = text.slice(startOf(node), first).includes('\n');
    return splice(
      text,
      [end, end],
      isOnLines ? `,\n${' '.repeat(columnOf(text, first))}${written}` : `, ${written}`,
    );
  }
  const first = isSeq(node) ? text.lastIndexOf('-', startOf(items[0])) : startOf(items[0]);
  const column = columnOf(text, first);
  const at = lineEnd(text, end);
  return splice(text, [at, at], `\n${' '.repeat(column)}${writeBlock(added, column)}`);
}

/** Removes a member, and the maps and lists that are empty then. */
function removeFromText(text: string, path: KeyPath): string {
  const { contents } = parse(text);
  const parent = nodeAt(contents, path.slice(0, -1));
  const step = path.at(-1);
  const items: readonly unknown[] = isMap(parent) || isSeq(parent) ? parent.items : [];
  const index = isSeq(parent)
    ? Number(step)
    : items.findIndex(
        (pair) => isPair(pair) && isScalar(pair.key) && showReferences(pair.key.value) === step,
      );
  const item = items[index];
  if (item === undefined) {
    return text;
  }
  if (items.length === 1) {
    return path.length === 1 ? '' : removeFromText(text, path.slice(0, -1));
  }
  const next = items[index + 1];
  const isFlow = (isMap(parent) || isSeq(parent)) && parent.flow === true;
  if (isFlow) {
    const before = items[index - 1];
    return next === undefined
      ? splice(text, [endOf(text, before), endOf(text, item)], '')
      : splice(text, [startOf(item), startOf(next)], '');
  }
  const start = isSeq(parent) ? text.lastIndexOf('-', startOf(item)) : startOf(item);
  const lineStart = start - columnOf(text, start);
  const isAlone = text.slice(lineStart, start).trim() === '';
  const after = lineEnd(text, endOf(text, item));
  // The first key of an entry stands behind a dash: the next key takes its place.
  return isAlone
    ? splice(text, [lineStart, Math.min(after + 1, text.length)], '')
    : splice(text, [start, next === undefined ? after : startOf(next)], '');
}

/** Lines around a change in a diff. */
const CONTEXT = 3;

/** Formats the difference of two texts as a unified diff; empty for equal texts. */
export function formatDiff(name: string, before: string, after: string): string {
  if (before === after) {
    return '';
  }
  const lines = diff(before.split('\n'), after.split('\n')).map(([kind, text]) => ({
    mark: kind === 0 ? ' ' : kind > 0 ? '-' : '+',
    text,
  }));
  const touched = lines.flatMap(({ mark }, index) => (mark === ' ' ? [] : [index]));
  const hunks: [from: number, to: number][] = [];
  for (const index of touched) {
    const last = hunks.at(-1);
    if (last !== undefined && index - CONTEXT <= last[1]) {
      last[1] = Math.min(lines.length, index + CONTEXT + 1);
    } else {
      hunks.push([Math.max(0, index - CONTEXT), Math.min(lines.length, index + CONTEXT + 1)]);
    }
  }
  const shown = hunks.map(([from, to]) => {
    const place = (mark: '-' | '+') => {
      const count = (part: typeof lines) =>
        part.filter((line) => line.mark === ' ' || line.mark === mark).length;
      const length = count(lines.slice(from, to));
      return `${mark}${count(lines.slice(0, from)) + (length === 0 ? 0 : 1)},${length}`;
    };
    const body = lines.slice(from, to).map(({ mark, text }) => `${mark}${text}\n`);
    return `@@ ${place('-')} ${place('+')} @@\n${body.join('')}`;
  });
  return `--- ${name}\n+++ ${name}\n${shown.join('')}`;
}
