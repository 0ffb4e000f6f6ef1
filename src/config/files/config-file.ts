import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import { ConfigError, readErrorMessage } from '../../domain/errors.ts';
import { decodeText } from '../../domain/text-encoding.ts';
import type { ConfigIssue, Origin, Position } from '../faults/config-issue.ts';
import type { KeyPath } from '../key-path.ts';
import { readModuleFile } from './module-file.ts';
import { type ParsedText, readYaml } from './yaml-text.ts';

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

/** Reads YAML, JSON, or the default export of a module. Throws a `ConfigError` for a file that cannot be read. */
export async function readConfigFile(path: string): Promise<ConfigFile> {
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
    const value = await readModuleFile(path);
    return buildFile(path, { value, findPosition: () => undefined, faults: [], brokenFrom: undefined });
  }
  if (info.size > MAX_BYTES) {
    throw new ConfigError(`${path} has ${info.size} bytes; the limit is ${MAX_BYTES}`);
  }
  return buildFile(path, readYaml(decodeText(await readFile(path).catch(refuse))));
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
