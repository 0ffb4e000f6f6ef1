import pRetry from 'p-retry';
import { SECOND_MS } from '../src/domain/durations.ts';
import { AppError, StoreUnavailableError, toAppError, readErrorMessage } from '../src/domain/errors.ts';
import { formatCount } from '../src/domain/plural.ts';
import { type IngestTable, ROW_ENCODINGS, type RowBlock } from '../src/store/contracts/rows.ts';
import type { DeadLetter, DeadLetterSink } from '../src/store/contracts/dead-letters.ts';
import type { PurgedTraces } from '../src/store/contracts/purge.ts';
import type { SpanSink } from '../src/store/spans/span-sink.ts';
import type { Log } from '../src/telemetry/log.ts';
import type { MetricWriter } from '../src/telemetry/metrics.ts';
import type { CollectorLimits } from './limits.ts';
import {
  type RowPiece,
  dropPurgedRows,
  listParts,
  type RowRange,
  rowsIn,
  wholeRange,
} from './otlp/row-pieces.ts';
import { v5 as uuidv5 } from 'uuid';

const FIRST_RETRY_MS = 100;
const RETRY_FACTOR = 3;

interface BlockInserterDependencies {
  readonly sink: SpanSink;
  readonly deadLetters: DeadLetterSink;
  readonly purged: PurgedTraces;
  readonly limits: CollectorLimits;
  readonly log: Log;
  readonly metrics: MetricWriter;
  readonly health: InsertHealth;
  readonly newToken: () => string;
}

/** Run of rows, and the request that it came from. */
export interface SentPiece {
  readonly piece: RowPiece;
  readonly origin: Origin;
}

/** Result of a piece: an error when a part of it is not stored, else the numbers of rows left out, with the reasons. */
export interface PieceOutcome {
  readonly error: AppError | undefined;
  /** Rows that the store refused. */
  readonly setAside: number;
  /** Rows of purged traces. */
  readonly purged: number;
  readonly reasons: readonly string[];
}

/**
 * Inserts pieces as one block. A temporary failure is retried with the same token. Rows that the store refuses are found by
 * bisection and set aside with their bytes; the other rows are stored. When the table itself is wrong, or the store takes
 * no row at all, nothing is set aside: the senders keep their rows and retry.
 */
export class BlockInserter {
  readonly #deps: BlockInserterDependencies;
  /** Number of rows set aside since the table last took a row. */
  readonly #unproven = new Map<IngestTable, number>();

  constructor(deps: BlockInserterDependencies) {
    this.#deps = deps;
  }

  /** Returns one outcome for each piece, in their order. Rows of purged traces are left out. */
  async insert(table: IngestTable, sent: readonly SentPiece[]): Promise<readonly PieceOutcome[]> {
    const { purged, metrics } = this.#deps;
    try {
      await purged.renew();
    } catch (error) {
      return sent.map(() => settlePiece(insertError(error)));
    }
    if (purged.isEmpty) {
      return this.#insertPieces(table, sent);
    }
    const kept = sent.map(({ piece, origin }) => ({
      ...dropPurgedRows(piece, origin.tenant, purged),
      origin,
    }));
    const isEmpty = kept.every(({ piece }) => piece.rows === 0);
    const outcomes = isEmpty ? kept.map(() => settlePiece(undefined)) : await this.#insertPieces(table, kept);
    return outcomes.map((outcome, index) => {
      const rows = kept[index]?.purged ?? 0;
      if (rows === 0) {
        return outcome;
      }
      metrics.add('spanscore.receiver.records.purged', rows);
      const reasons = [...outcome.reasons, `${formatCount(rows, 'record')} of purged traces`];
      return { ...outcome, purged: rows, reasons };
    });
  }

  async #insertPieces(table: IngestTable, sent: readonly SentPiece[]): Promise<readonly PieceOutcome[]> {
    const token = this.#deps.newToken();
    const whole = wholeRange(sent.map(({ piece }) => piece));
    const failure = await this.#insertRange(table, whole, token);
    if (failure?.code !== 'store_rejected') {
      return sent.map(() => settlePiece(failure));
    }
    try {
      await this.#checkTable(table, failure);
      const found = await bisect(whole, failure, this.#deps.limits.maxBisectInserts, (range) =>
        this.#insertRange(table, range, `${token}/${range.from}-${range.to}`),
      );
      this.#checkProof(table, found);
      return await this.#settle(table, sent, found);
    } catch (error) {
      return sent.map(() => settlePiece(insertError(error)));
    }
  }

  /** Inserts a range with all retries. Returns the error, if there is one. */
  async #insertRange(table: IngestTable, range: RowRange, token: string): Promise<AppError | undefined> {
    const { metrics, health, limits, log, sink } = this.#deps;
    const block = { table, rows: rowsIn(range), chunks: listParts(range).map(({ bytes }) => bytes) };
    metrics.record('spanscore.insert.rows', block.rows, { table });
    metrics.record('spanscore.insert.size', sumBytes(block), { table });
    try {
      await pRetry(
        (attempt) => {
          if (attempt > 1) {
            metrics.add('spanscore.insert.retries', 1);
          }
          return measureInsert(metrics, table, () => sink.insert(block, token));
        },
        {
          retries: limits.insertRetries,
          minTimeout: FIRST_RETRY_MS,
          factor: RETRY_FACTOR,
          maxRetryTime: limits.patienceMs,
          shouldRetry: ({ error }) => error instanceof StoreUnavailableError,
        },
      );
      this.#unproven.delete(table);
      health.recordSuccess();
      return undefined;
    } catch (error) {
      const failure = insertError(error);
      health.recordFailure(failure);
      metrics.add('spanscore.insert.failures', 1, { reason: failure.code });
      log.warn('insert failed', { table, rows: block.rows, block: token, code: failure.code, error });
      return failure;
    }
  }

  /** Throws a retryable error when the table is the reason of the refusal, not the rows. */
  async #checkTable(table: IngestTable, refusal: AppError): Promise<void> {
    try {
      await this.#deps.sink.check(table);
    } catch (error) {
      this.#deps.log.error('the store takes no rows at all; check its tables: spanscore migrate --status', {
        table,
        error,
        refusal,
      });
      throw error;
    }
  }

  /**
   * Throws a retryable error when too many rows were refused and none was stored. Then it is likelier that the store is
   * wrong in a way that its table does not show than that every row is bad.
   */
  #checkProof(table: IngestTable, { taken, refused }: Bisection): void {
    const { limits, log } = this.#deps;
    if (taken > 0) {
      return;
    }
    const rows = refused.reduce((sum, { range }) => sum + rowsIn(range), this.#unproven.get(table) ?? 0);
    const [first] = refused;
    if (first === undefined || rows <= limits.maxUnprovenRows) {
      this.#unproven.set(table, rows);
      return;
    }
    log.error('the store refuses every row; no row is set aside, the senders keep their rows and retry', {
      table,
      rows,
      error: first.error,
    });
    throw new StoreUnavailableError(`the store refuses every row: ${first.error.message}`, {
      cause: first.error,
      retryAfterMs: limits.retryAfterMs,
    });
  }

  /** Sets the refused rows aside. Returns the outcome of each piece. */
  async #settle(
    table: IngestTable,
    sent: readonly SentPiece[],
    { refused, failed }: Bisection,
  ): Promise<readonly PieceOutcome[]> {
    const { metrics, deadLetters, log } = this.#deps;
    const found = refused.flatMap(({ range, error }) => refusedRows(table, range, sent, error));
    if (found.length > 0) {
      await deadLetters.write(found.map(({ letter }) => letter));
    }
    for (const { letter, rows } of found) {
      metrics.add('spanscore.dead_letters', 1, { reason: letter.code });
      log.warn('the store refused rows; they are dead letters now, to list them: spanscore dlq list', {
        table,
        rows,
        id: letter.id,
        reason: letter.reason,
      });
    }
    const undecided = new Set(failed?.ranges.flatMap((range) => listParts(range).map(({ piece }) => piece)));
    return sent.map((_, index) => {
      const mine = found.filter(({ piece }) => piece === index);
      return {
        error: undecided.has(index) ? failed?.error : undefined,
        setAside: mine.reduce((sum, { rows }) => sum + rows, 0),
        purged: 0,
        reasons: mine.map(({ letter }) => `set aside as ${letter.id}: ${letter.reason}`),
      };
    });
  }
}

/** Outcome of a piece that is stored as a whole, or not at all. */
function settlePiece(error: AppError | undefined): PieceOutcome {
  return { error, setAside: 0, purged: 0, reasons: [] };
}

function sumBytes({ chunks }: RowBlock): number {
  return chunks.reduce((sum, chunk) => sum + chunk.length, 0);
}

async function measureInsert(
  metrics: MetricWriter,
  table: IngestTable,
  attempt: () => Promise<void>,
): Promise<void> {
  const startedMs = performance.now();
  let outcome = 'failed';
  try {
    await attempt();
    outcome = 'stored';
  } finally {
    metrics.record('spanscore.insert.duration', (performance.now() - startedMs) / SECOND_MS, {
      table,
      outcome,
    });
  }
}

function insertError(error: unknown): AppError {
  return toAppError(error, { failed: 'an insert failed unexpectedly', stage: 'store', retryable: false });
}

/** Result of a block that the store refused as a whole. */
interface Bisection {
  /** Number of rows stored. */
  readonly taken: number;
  /** Refused ranges, as small as the number of inserts allows: nearly always single rows. */
  readonly refused: readonly { readonly range: RowRange; readonly error: AppError }[];
  /** Set when an insert failed for another reason, with the undecided ranges. */
  readonly failed: { readonly ranges: readonly RowRange[]; readonly error: AppError } | undefined;
}

/**
 * Finds the rows that a store refuses by inserting halves, level by level: one bad row among n costs about 2·log2(n)
 * inserts. `insert` returns the error, if there is one. Makes at most `maxInserts` inserts; ranges that are still refused
 * then stay whole. When no level had a stored row, the last inserts try single rows, to find out whether the rows are bad
 * or the store is.
 */
async function bisect(
  range: RowRange,
  refusal: AppError,
  maxInserts: number,
  insert: (range: RowRange) => Promise<AppError | undefined>,
): Promise<Bisection> {
  const open = [{ range, error: refusal }];
  const refused: { range: RowRange; error: AppError }[] = [];
  let taken = 0;
  let left = maxInserts;
  const forProof = 2 * Math.ceil(Math.log2(rowsIn(range)));
  const take = () => (taken === 0 && left <= forProof ? open.pop() : open.shift());
  for (let next = take(); next !== undefined; next = take()) {
    if (rowsIn(next.range) === 1 || left < 2) {
      refused.push(next);
      continue;
    }
    left -= 2;
    const halves = splitInHalf(next.range);
    for (const [index, half] of halves.entries()) {
      const error = await insert(half);
      if (error === undefined) {
        taken += rowsIn(half);
      } else if (error.code === 'store_rejected') {
        open.push({ range: half, error });
      } else {
        const undecided = [...halves.slice(index), ...open.map((each) => each.range)];
        return { taken, refused, failed: { ranges: undecided, error } };
      }
    }
  }
  return { taken, refused, failed: undefined };
}

function splitInHalf({ pieces, from, to }: RowRange): RowRange[] {
  const middle = (from + to) >>> 1;
  return [
    { pieces, from, to: middle },
    { pieces, from: middle, to },
  ];
}

/** Tenant of rows, and the receiver that they came through. */
export interface Origin {
  readonly tenant: string;
  /** `otlp-http`, `otlp-grpc`, `kafka`. */
  readonly source: string;
}

/** Namespace of the ids of refused rows. It must never change. */
const NAMESPACE = '5f6c1f5e-8a55-5b1c-9d0e-2f0b5a9a6c77';

/** Rows of one piece that the store refused, in the form of a dead letter. */
interface RefusedRows {
  /** Index of the piece. */
  readonly piece: number;
  readonly rows: number;
  readonly letter: DeadLetter;
}

/**
 * Creates the dead letters of a refused range, one for each piece. The id is a hash of the bytes: rows that are sent again
 * are stored once.
 */
function refusedRows(
  table: IngestTable,
  range: RowRange,
  sent: readonly { readonly origin: Origin }[],
  { code, message }: AppError,
): RefusedRows[] {
  return listParts(range).map(({ piece, rows, bytes }) => ({
    piece,
    rows,
    letter: {
      id: uuidv5(Buffer.concat([Buffer.from(table), bytes]), NAMESPACE),
      source: sent[piece]?.origin.source ?? '',
      topic: '',
      partition: 0,
      firstOffset: 0n,
      lastOffset: BigInt(rows - 1),
      tenant: sent[piece]?.origin.tenant ?? '',
      signal: table === 'otel_traces' ? 'traces' : 'logs',
      encoding: ROW_ENCODINGS[table],
      body: bytes,
      code,
      reason: message,
      attempts: 1,
    },
  }));
}

/** Time between two probes of a store that refused the last insert, milliseconds. */
const PROBE_EVERY_MS = 5_000;
const MIB = 1024 * 1024;

/** Health of the inserts of a collector, for readiness. */
interface InsertHealth {
  recordSuccess(): void;
  recordFailure(failure: AppError): void;
  /** Resolves while the store takes inserts; rejects with the reason and the free space while it refuses them. */
  check(): Promise<void>;
}

/**
 * Creates the health of inserts. A failed insert makes it unhealthy, and a successful one makes it healthy again. While it
 * is unhealthy, a check probes the store, at most every 5 s: senders may send nothing to a collector that is not ready.
 */
export function createInsertHealth(
  sink: Pick<SpanSink, 'probe' | 'readFreeBytes'>,
  nowMs: () => number = Date.now,
): InsertHealth {
  let refusal: { readonly sinceMs: number; readonly reason: string; readonly triedMs: number } | null = null;
  const recordSuccess = (): void => {
    refusal = null;
  };
  const recordFailure = (failure: unknown): void => {
    const now = nowMs();
    refusal = { sinceMs: refusal?.sinceMs ?? now, reason: readErrorMessage(failure), triedMs: now };
  };
  return {
    recordSuccess,
    recordFailure: (failure) => {
      // Only a retryable failure says that the next row would fail too.
      if (failure.retryable) {
        recordFailure(failure);
      }
    },
    async check() {
      const agoMs = refusal === null ? 0 : nowMs() - refusal.triedMs;
      // Below 0 after a step back of the clock.
      if (agoMs >= PROBE_EVERY_MS || agoMs < 0) {
        await sink.probe().then(recordSuccess, recordFailure);
      }
      if (refusal === null) {
        return;
      }
      const { sinceMs, reason } = refusal;
      const free = await sink.readFreeBytes().catch(() => null);
      const space = free === null ? '' : `; ${Math.floor(free / MIB)} MiB are free on its disks`;
      const since = new Date(sinceMs).toISOString();
      throw new AppError(`the store refuses inserts since ${since}: ${reason}${space}`, {
        code: 'overloaded',
        stage: 'store',
        retryable: true,
      });
    },
  };
}
