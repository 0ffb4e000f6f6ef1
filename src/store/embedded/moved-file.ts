import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeWhole } from './whole-file.ts';

/** New place of a store that was moved. */
export interface MovedTo {
  readonly url: string;
  readonly database: string;
}

function formatPath(dataDir: string): string {
  return join(dataDir, 'moved.json');
}

/** Reads the new place of the store of a data directory; undefined for a store that was not moved. */
export function readMoved(dataDir: string): MovedTo | undefined {
  const path = formatPath(dataDir);
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as MovedTo) : undefined;
}

/** Writes the new place: the engine of this directory only reads after its next start, and no `serve` starts. */
export function writeMoved(dataDir: string, { url, database }: MovedTo): void {
  writeWhole(formatPath(dataDir), `${JSON.stringify({ url, database }, null, 2)}\n`);
}

/** Returns the sentence for a store that was moved. */
export function formatMoved({ url, database }: MovedTo): string {
  return `this store was moved to ${url}, database ${database}: set store.url and store.database, and start serve again`;
}
