import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml';
import { ConfigError, messageOf } from '../domain/errors.ts';
import { hideReferences, showReferences } from './environment-references.ts';
import type { KeyPath } from './key-path.ts';

/** A configuration file as it was read: nothing checked, `${env:…}` not yet replaced. */
export interface ConfigFile {
  /** Absolute. */
  readonly path: string;
  readonly value: unknown;
  /** `name:line` of the value at a path, or of the nearest part around it; just the name where lines are unknown. */
  placeOf(path: KeyPath): string;
}

type ParsedDocument = ReturnType<typeof parseDocument>;

const EXTENSIONS = ['.yaml', '.yml', '.json', '.ts', '.mts', '.js', '.mjs'] as const;
const CANDIDATES = EXTENSIONS.map((extension) => `spanscore.config${extension}`);
const MAX_BYTES = 1024 * 1024;

/** The configuration file of a folder, or undefined; two at once are refused, because which one wins would be a guess. */
export function findConfigFile(folder: string): string | undefined {
  const found = CANDIDATES.filter((name) => existsSync(resolve(folder, name)));
  if (found.length > 1) {
    throw new ConfigError(
      `${folder} holds ${found.join(' and ')}: keep one, or name the one to use with --config`,
    );
  }
  return found[0] === undefined ? undefined : resolve(folder, found[0]);
}

/** Reads YAML, JSON, or the default export of a module. */
export async function readConfigFile(path: string): Promise<ConfigFile> {
  const extension = extname(path).toLowerCase();
  if (!EXTENSIONS.some((known) => known === extension)) {
    throw new ConfigError(`${path}: a configuration file ends in ${EXTENSIONS.join(', ')}`);
  }
  const info = await stat(path).catch((cause: unknown) => {
    throw new ConfigError(`${path} cannot be read: ${messageOf(cause)}`, { path }, cause);
  });
  if (!info.isFile()) {
    throw new ConfigError(`${path} is not a file`);
  }
  return /\.m?[jt]s$/.test(extension) ? readModule(path) : readText(path, info.size);
}

async function readText(path: string, bytes: number): Promise<ConfigFile> {
  const name = basename(path);
  if (bytes > MAX_BYTES) {
    throw new ConfigError(`${path} has ${bytes} bytes; a configuration file may have ${MAX_BYTES}`);
  }
  const { text, references } = hideReferences(await readFile(path, 'utf8'));
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    throw new ConfigError(`${name}:${line}:${col}: ${showReferences(error.message, references) as string}`, {
      path,
    });
  }
  const value = showReferences(toValue(document, name), references) ?? {};
  return {
    path,
    value,
    placeOf: (keys) => {
      for (let length = keys.length; length > 0; length--) {
        const offset = offsetOf(document, keys.slice(0, length));
        if (offset !== undefined) {
          return `${name}:${lines.linePos(offset).line}`;
        }
      }
      return name;
    },
  };
}

/** Where the key at a path begins (a value may stand lines below its key); for a list item, where the item begins. */
function offsetOf(document: ParsedDocument, path: KeyPath): number | undefined {
  const last = path.at(-1);
  const parent: unknown = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const pair = isMap(parent)
    ? parent.items.find((item) => isScalar(item.key) && item.key.value === last)
    : undefined;
  const node: unknown = pair?.key ?? document.getIn(path, true);
  return isNode(node) ? node.range?.[0] : undefined;
}

function toValue(document: ParsedDocument, name: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 }) as unknown;
  } catch (cause) {
    throw new ConfigError(`${name}: ${messageOf(cause)}`, {}, cause);
  }
}

async function readModule(path: string): Promise<ConfigFile> {
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
    throw new ConfigError(`${name} cannot be loaded: ${messageOf(cause)}`, { path }, cause);
  }
  const value = await module.default;
  if (value === null || typeof value !== 'object') {
    throw new ConfigError(
      `${name} must have the configuration as its default export: export default defineConfig({ … })`,
    );
  }
  return { path, value, placeOf: () => name };
}
