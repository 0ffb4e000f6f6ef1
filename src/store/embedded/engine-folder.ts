import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of the engine's own files within a data directory. */
export function engineFolder(dataDir: string): string {
  return join(dataDir, 'clickhouse');
}

/** True when an engine has written to this data directory before. */
export function hasEngineFiles(dataDir: string): boolean {
  return existsSync(engineFolder(dataDir));
}
