import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import { ConfigError, readErrorMessage } from '../../domain/errors.ts';
import type { ConfigIssue, Origin, Position } from '../faults/config-issue.ts';
import type { KeyPath } from '../key-path.ts';
import { readModuleFile } from './module-file.ts';
import { type ParsedText, readYaml } from './yaml-text.ts';

/** A configuration file as it was read: nothing checked, `${env:…}` not yet replaced. */
export interface ConfigFile {
  /** Absolute. */
  readonly path: string;
  readonly value: unknown;
  /** Faults of the text itself, each with its place. */
  readonly issues: readonly ConfigIssue[];
  /** The line from which the text could not be read any more; faults that show from there on may be none. */
  readonly brokenFrom: number | undefined;
  /** The place of a path, or of the nearest part around it; just the name where lines are unknown. */
  findOrigin(path: KeyPath): Origin;
}

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

/** Reads YAML, JSON, or the default export of a module. Throws a `ConfigError` for a file that cannot be read at all. */
export async function readConfigFile(path: string): Promise<ConfigFile> {
  const extension = extname(path).toLowerCase();
  if (!EXTENSIONS.some((known) => known === extension)) {
    throw new ConfigError(`${path}: a configuration file ends in ${EXTENSIONS.join(', ')}`);
  }
  const info = await stat(path).catch((cause: unknown) => {
    throw new ConfigError(`${path} cannot be read: ${readErrorMessage(cause)}`, { path }, cause);
  });
  if (!info.isFile()) {
    throw new ConfigError(`${path} is not a file`);
  }
  if (/\.m?[jt]s$/.test(extension)) {
    const { value, findPosition: positionOf } = await readModuleFile(path);
    return buildFile(path, { value, findPosition: positionOf, faults: [], brokenFrom: undefined });
  }
  if (info.size > MAX_BYTES) {
    throw new ConfigError(`${path} has ${info.size} bytes; a configuration file may have ${MAX_BYTES}`);
  }
  return buildFile(path, readYaml(await readFile(path, 'utf8')));
}

function buildFile(
  path: string,
  { value, faults, brokenFrom, findPosition: positionOf }: ParsedText,
): ConfigFile {
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
        const position = positionOf(keys.slice(0, length));
        if (position !== undefined) {
          return originAt(position);
        }
      }
      return originAt(undefined);
    },
  };
}
