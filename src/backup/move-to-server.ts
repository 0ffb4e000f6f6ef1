import { readPurgeSecret } from '../config/purge-key-file.ts';
import type { Config } from '../configuration.ts';
import { ConfigError, InvalidInputError, rejectAborted, RequestError } from '../domain/errors.ts';
import { createPurgeKey } from '../purge/purge-key.ts';
import { connectAlone } from '../store/connection/connect-store.ts';
import { readMoved, writeMoved } from '../store/embedded/moved-file.ts';
import type { Log } from '../telemetry/log.ts';

export interface MoveOptions {
  /** Address of the target: a ClickHouse server, or another embedded engine. */
  readonly to: { readonly url: string; readonly username: string; readonly password: string };
  readonly database: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly onProgress: (table: string) => void;
}

/** Result of a move. */
export interface MoveReport {
  readonly url: string;
  readonly database: string;
  /** True when an earlier move has ended there, for example one that was killed at its very end. Then nothing was copied. */
  readonly hasEndedBefore: boolean;
  /** Rows that this command has copied; a move that was interrupted has copied others before. */
  readonly copied: number;
}

/**
 * Copies the store of the embedded engine to a new database of another one while no other process uses it; then no `serve` starts on it
 * any more. After an interruption, the same command goes on; after the end, it only says so.
 */
export async function moveStore(config: Config, options: MoveOptions): Promise<MoveReport> {
  const { dataDir, url } = config.store;
  if (url !== undefined) {
    throw new ConfigError(
      'store.url is set: spanscore move copies an embedded engine; to end a move that was interrupted, run it with the configuration of the embedded engine; for a ClickHouse server, use its BACKUP and RESTORE',
    );
  }
  const { signal, log, to, database } = options;
  const moved = readMoved(dataDir);
  if (moved !== undefined && (moved.url !== to.url || moved.database !== database)) {
    throw new InvalidInputError(
      `this store was moved to ${moved.url}, database ${moved.database}, before: name that target`,
    );
  }
  const connection = await connectAlone(config, log, { command: 'move', signal, existing: true });
  try {
    const { moveTables } = await import('../store/move-store.ts');
    const copied = await moveTables(
      connection.options,
      { ...connection.options, ...to, database },
      {
        sourceId: createPurgeKey(readPurgeSecret(dataDir)).keyId,
        hasEnded: moved !== undefined,
        onProgress: (table) => {
          rejectAborted(signal);
          options.onProgress(table);
        },
        endSource: () => writeMoved(dataDir, { url: to.url, database }),
      },
    );
    return { url: to.url, database, hasEndedBefore: copied === undefined, copied: copied ?? 0 };
  } finally {
    await connection.release();
  }
}

/** Reads the address of a target, which may have a user name and a password. Throws for a text that is no address. */
export function parseTarget(text: string, password: string | undefined): MoveOptions['to'] {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new RequestError(
      `--to ${text}: write the HTTP address of a ClickHouse server, like http://host:8123`,
    );
  }
  return {
    url: url.origin,
    username: decodeURIComponent(url.username) || 'default',
    password: password ?? decodeURIComponent(url.password),
  };
}
