import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import { ConfigError, readErrorMessage } from '../../domain/errors.ts';
import { decodeText } from '../../domain/text-encoding.ts';
import type { ConfigIssue, Origin, Position } from '../faults/config-issue.ts';
import type { KeyPath } from '../key-path.ts';
import { pathToFileURL } from 'node:url';
import { type Alias, isMap, isNode, isScalar, LineCounter, parseDocument, visit, type YAMLError } from 'yaml';
import { hideReferences, showReferences } from '../environment.ts';

/** Configuration file as read: not checked, with `${env:…}` not yet replaced. */
export interface ConfigFile {
  /** Absolute path. */
  readonly path: string;
  readonly value: unknown;
  /** Syntax faults of the text, each with its place. */
  readonly issues: readonly ConfigIssue[];
  /** First line that could not be parsed; faults reported from there on may be false. */
  readonly brokenFrom: number | undefined;
  /** Returns the place of a path, or of the nearest part around it; only the file name for a module. */
  findOrigin(path: KeyPath): Origin;
}

const EXTENSIONS = ['.yaml', '.yml', '.json', '.ts', '.mts', '.js', '.mjs'] as const;
const CANDIDATES = EXTENSIONS.map((extension) => `spanscore.config${extension}`);
const MAX_BYTES = 1024 * 1024;

/**
 * Finds the configuration file of a folder; undefined when there is none. Throws a `ConfigError` for two files, because the
 * choice would be a guess.
 */
export function findConfigFile(folder: string): string | undefined {
  const found = CANDIDATES.filter((name) => existsSync(resolve(folder, name)));
  if (found.length > 1) {
    throw new ConfigError(`${folder} holds ${found.join(' and ')}: keep one, or choose one with --config`);
  }
  return found[0] === undefined ? undefined : resolve(folder, found[0]);
}

/**
 * Reads YAML, JSON, or the default export of a module. Throws a `ConfigError` for a file that cannot be read.
 * @param text content in place of the file's; not for a module
 */
export async function readConfigFile(path: string, text?: string): Promise<ConfigFile> {
  const extension = extname(path).toLowerCase();
  if (!EXTENSIONS.some((known) => known === extension)) {
    throw new ConfigError(`${path}: a configuration file ends in ${EXTENSIONS.join(', ')}`);
  }
  const refuse = (cause: unknown): never => {
    throw new ConfigError(`${path} cannot be read: ${readErrorMessage(cause)}`, { path }, cause);
  };
  const info = await stat(path).catch(refuse);
  if (!info.isFile()) {
    throw new ConfigError(`${path} is not a file`);
  }
  if (/\.m?[jt]s$/.test(extension)) {
    const value = await readModuleFile(path, info.mtimeMs);
    return buildFile(path, { value, findPosition: () => undefined, faults: [], brokenFrom: undefined });
  }
  const size = text === undefined ? info.size : Buffer.byteLength(text);
  if (size > MAX_BYTES) {
    throw new ConfigError(`${path} has ${size} bytes; the limit is ${MAX_BYTES}`);
  }
  return buildFile(path, readYaml(text ?? decodeText(await readFile(path).catch(refuse))));
}

function buildFile(path: string, { value, faults, brokenFrom, findPosition }: ParsedText): ConfigFile {
  const name = basename(path);
  const originAt = (position: Position | undefined): Origin => ({
    kind: 'file',
    where: position === undefined ? name : `${name}:${position.line}`,
    place: position === undefined ? name : `${name}:${position.line}:${position.column}`,
    file: path,
    position,
  });
  return {
    path,
    value,
    brokenFrom,
    issues: faults.map(({ position, message }) => ({ path: [], message, origin: originAt(position) })),
    findOrigin: (keys) => {
      for (let length = keys.length; length > 0; length--) {
        const position = findPosition(keys.slice(0, length));
        if (position !== undefined) {
          return originAt(position);
        }
      }
      return originAt(undefined);
    },
  };
}

/** Times of change of the modules that this process has loaded first, by path: Node keeps a module under its address for ever. */
const loadedModules = new Map<string, number>();

/** Imports a configuration module. Throws a `ConfigError` when it cannot be loaded or exports no configuration. */
async function readModuleFile(path: string, changedAtMs: number): Promise<unknown> {
  const name = basename(path);
  if (/\.m?ts$/.test(path) && process.features.typescript === false) {
    throw new ConfigError(
      `${name}: this Node (${process.version}) cannot load TypeScript: use Node 22.18 or later, or write spanscore.config.yaml`,
    );
  }
  let module: { default?: unknown };
  try {
    const firstMs = loadedModules.get(path) ?? changedAtMs;
    loadedModules.set(path, firstMs);
    const version = changedAtMs === firstMs ? '' : `?changed=${changedAtMs}`;
    module = (await import(`${pathToFileURL(path).href}${version}`)) as { default?: unknown };
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
    const [, after = ''] = stack.split(name);
    return /^(?:\?changed=[\d.]+)?:(\d+)/.exec(after)?.[1] ?? [];
  });
  return lines[0] === undefined ? undefined : `${basename(path)}:${lines[0]}`;
}

/** A parsed text. */
interface ParsedText {
  readonly value: unknown;
  readonly faults: readonly { readonly position: Position; readonly message: string }[];
  readonly brokenFrom: number | undefined;
  /** Returns the position of a path in the text; undefined when the text does not have it. */
  readonly findPosition: (path: KeyPath) => Position | undefined;
}

type ParsedDocument = ReturnType<typeof parseDocument>;

/** Parses YAML or JSON as far as it is readable, and finds every syntax fault. */
function readYaml(text: string): ParsedText {
  const lines = new LineCounter();
  const document = parseDocument(hideReferences(text), { lineCounter: lines, prettyErrors: false });
  const positionAt = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const buildFault = (error: YAMLError) => ({
    position: positionAt(error.pos[0]),
    message:
      adviceFor(error, text.slice(error.pos[0], error.pos[0] + 80)) ?? String(showReferences(error.message)),
  });
  const value = toValue(document);
  return {
    value: showReferences(value.value) ?? {},
    faults: [
      ...document.errors.map(buildFault),
      ...document.warnings.map(buildFault),
      ...(value.fault === undefined
        ? []
        : [{ position: positionAt(value.offset ?? 0), message: value.fault }]),
    ],
    brokenFrom: firstBreak(document, value.fault, positionAt),
    findPosition: (path) => {
      const offset = findOffset(document, path);
      return offset === undefined ? undefined : positionAt(offset);
    },
  };
}

/** Returns the first line after which the syntax is unclear. A duplicate key makes nothing unclear. */
function firstBreak(
  { errors }: ParsedDocument,
  fault: string | undefined,
  positionAt: (offset: number) => { line: number },
): number | undefined {
  const breaks = errors
    .filter(({ code }) => code !== 'DUPLICATE_KEY')
    .map(({ pos }) => positionAt(pos[0]).line);
  return fault === undefined && breaks.length === 0 ? undefined : Math.min(1e9, ...breaks);
}

function adviceFor({ code, message }: YAMLError, faulty: string): string | undefined {
  if (code === 'DUPLICATE_KEY') {
    const key = /^[\w.$"'-]+/.exec(faulty)?.[0] ?? 'a key';
    return `${key} is written twice in its group; join the two, or remove one`;
  }
  if (code === 'TAB_AS_INDENT') {
    return 'this line is indented with a tab; YAML allows only spaces';
  }
  return code === 'TAG_RESOLVE_FAILED'
    ? `${message}; for an environment variable write \${env:NAME}`
    : undefined;
}

/** Returns the offset of the key at a path (a value may be lines below its key); for a list item, the start of the item. */
function findOffset(document: ParsedDocument, path: KeyPath): number | undefined {
  const last = path.at(-1);
  const parent: unknown = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const pair = isMap(parent)
    ? parent.items.find((item) => isScalar(item.key) && showReferences(item.key.value) === last)
    : undefined;
  const node: unknown = pair?.key ?? document.getIn(path, true);
  return isNode(node) ? node.range?.[0] : undefined;
}

function toValue(document: ParsedDocument): { value?: unknown; fault?: string; offset?: number | undefined } {
  const endless = findEndless(document);
  if (endless !== undefined) {
    return {
      fault: `*${endless.source} stands inside the group &${endless.source} that it repeats; write the values out`,
      offset: endless.range?.[0],
    };
  }
  try {
    return { value: document.toJS({ maxAliasCount: 100 }) as unknown };
  } catch (cause) {
    return { fault: readErrorMessage(cause) };
  }
}

/** Finds an alias inside the node that it repeats: its value would have no end. */
function findEndless(document: ParsedDocument): Alias | undefined {
  let found: Alias | undefined;
  visit(document, {
    Alias(_, alias, path) {
      const target = alias.resolve(document);
      if (target !== undefined && path.some((node) => node === target)) {
        found = alias;
        return visit.BREAK;
      }
      return undefined;
    },
  });
  return found;
}
