import { join } from 'node:path';
import { MINUTE_MS } from '../../domain/durations.ts';
import { ConfigError, rejectAborted, RequestError } from '../../domain/errors.ts';
import type { MoveStore, StampRange } from '../../store/contracts/move.ts';
import { readMoved, writeMoved, type MovedTo } from '../../store/embedded/moved-file.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Config } from '../config/index.ts';
import { connectStore, type StoreConnection } from '../store/connect-store.ts';
import { withFileLock } from '../store/with-file-lock.ts';
import { holdWrites } from './hold-writes.ts';
import { readMoveState, removeMoveState, writeMoveState, type MoveState } from './move-state.ts';

/** Age from which no more rows with a stamp become visible, milliseconds: longer than the longest insert. */
const CLOSED_MS = MINUTE_MS;

/** Length of a range that is left for the last pass, milliseconds, and most passes before it. */
const SHORT_MS = MINUTE_MS / 4;
const MOST_PASSES = 10;

export interface MoveOptions {
  /** Address of the target: a ClickHouse server, or another embedded engine. */
  readonly to: { readonly url: string; readonly username: string; readonly password: string };
  readonly database: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly onProgress: (message: string) => void;
}

/** Result of a move. */
export interface MoveReport {
  readonly url: string;
  readonly database: string;
  /** True when an earlier move has ended there, for example one that was killed at its very end. Then nothing was copied. */
  readonly hasEndedBefore: boolean;
  /** Rows that this command has copied; a move that was interrupted has copied others before. */
  readonly copied: number;
  readonly passes: number;
  /** Time for which writes were held, seconds. */
  readonly heldSeconds: number;
}

/**
 * Copies the store of the embedded engine to another one while `serve` goes on, in passes. The last pass holds all writes, so that both
 * are equal at its end; then the former store only reads. After an interruption, the same command goes on; after the end, it only says so.
 */
export async function moveStore(config: Config, options: MoveOptions): Promise<MoveReport> {
  const { dataDir, url } = config.store;
  if (url !== undefined) {
    throw new ConfigError(
      'store.url is set: spanscore move copies an embedded engine; to end a move that was interrupted, run it with the configuration of the embedded engine; for a ClickHouse server, use its BACKUP and RESTORE',
    );
  }
  const { signal, log } = options;
  const connection = await connectStore(config, log, { command: 'move', signal, existing: true });
  try {
    refuseSame(connection, options);
    return await withFileLock(
      join(dataDir, 'move.lock'),
      `another spanscore move of ${dataDir} is at work: wait for its end, or end it first`,
      () => moveRows(dataDir, connection, options),
    );
  } finally {
    await connection.release();
  }
}

async function moveRows(
  dataDir: string,
  connection: StoreConnection,
  options: MoveOptions,
): Promise<MoveReport> {
  const { openMoveStore } = await import('../../store/move/move-store.ts');
  const target = { ...connection.options, ...options.to, database: options.database };
  const store = openMoveStore(connection.options, target);
  try {
    return await new Move(dataDir, { connection, store, options }).run();
  } finally {
    await store.close();
  }
}

function refuseSame({ options: source }: StoreConnection, { to, database }: MoveOptions): void {
  if (new URL(source.url).host === new URL(to.url).host && source.database === database) {
    throw new RequestError('--to is this store itself: name another server, or another --database');
  }
}

interface MoveParts {
  readonly connection: StoreConnection;
  readonly store: MoveStore;
  readonly options: MoveOptions;
}

class Move {
  readonly #dataDir: string;
  readonly #parts: MoveParts;
  readonly #state: MoveState;
  #copied = 0;
  #passes = 0;

  constructor(dataDir: string, parts: MoveParts) {
    this.#dataDir = dataDir;
    this.#parts = parts;
    const { to, database } = parts.options;
    this.#state = readMoveState(dataDir, { url: new URL(to.url).origin, database });
  }

  async run(): Promise<MoveReport> {
    const { connection, options, store } = this.#parts;
    const moved = readMoved(this.#dataDir);
    const hasEndedBefore = this.#isTarget(moved) && (await store.isComplete());
    let heldSeconds = 0;
    if (hasEndedBefore) {
      removeMoveState(this.#dataDir);
    } else {
      await store.prepare();
      await this.#catchUp();
      // A store that only reads since an earlier move lets nobody record what was begun.
      const isShared = connection.engine === undefined && moved === undefined;
      options.onProgress('holding new spans until all processes have finished their work');
      const startedMs = performance.now();
      await this.#hold(isShared);
      heldSeconds = Math.round((performance.now() - startedMs) / 1_000);
    }
    const { url, database } = this.#state;
    return { url, database, hasEndedBefore, copied: this.#copied, passes: this.#passes, heldSeconds };
  }

  #isTarget(moved: MovedTo | undefined): boolean {
    return moved?.url === this.#state.url && moved.database === this.#state.database;
  }

  /** Makes both stores equal while nobody writes, and ends the former one. */
  async #hold(isShared: boolean): Promise<void> {
    const { connection, options } = this.#parts;
    const hold = await holdWrites(connection.options, isShared, options.signal);
    try {
      await this.#pass(this.#listRanges(), true);
      rejectAborted(options.signal);
      await hold.confirm();
      await this.#end();
    } finally {
      await hold.release();
    }
  }

  /** Copies closed ranges until the last one is short. */
  async #catchUp(): Promise<void> {
    const { store } = this.#parts;
    if (this.#state.untilMs.length > 0) {
      await this.#pass(this.#listRanges().slice(0, -1), false);
    }
    for (let pass = 0; pass < MOST_PASSES; pass++) {
      const untilMs = (await store.nowMs()) - CLOSED_MS;
      const fromMs = this.#state.untilMs.at(-1) ?? 0;
      if (untilMs - fromMs < SHORT_MS) {
        return;
      }
      this.#state.untilMs.push(untilMs);
      writeMoveState(this.#dataDir, this.#state);
      await this.#pass([{ fromMs, untilMs }], false);
    }
  }

  /** All ranges in the order of time. The last one is open. */
  #listRanges(): StampRange[] {
    const { untilMs } = this.#state;
    return [...untilMs, Number.POSITIVE_INFINITY].map((end, index) => ({
      fromMs: untilMs[index - 1] ?? 0,
      untilMs: end,
    }));
  }

  async #pass(ranges: readonly StampRange[], isLast: boolean): Promise<void> {
    const { store, options } = this.#parts;
    this.#passes += 1;
    this.#copied += await store.copy(ranges, {
      isLast,
      onProgress: (table) => {
        rejectAborted(options.signal);
        options.onProgress(`pass ${this.#passes}${isLast ? ', the last one' : ''}: ${table}`);
      },
    });
  }

  /** First the former store only reads, then the target can be used: they are never used both. */
  async #end(): Promise<void> {
    writeMoved(this.#dataDir, this.#state);
    await this.#parts.store.finish();
    removeMoveState(this.#dataDir);
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
