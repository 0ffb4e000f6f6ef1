import type { DeadLetter, StoredDeadLetter } from '../contracts/dead-letters.ts';
import { bind, type Database } from '../database.ts';

/** Above the version of every attempt: a dropped letter stays dropped. */
const DROPPED_VERSION = 2 ** 40;

/** Records that could not be taken in. */
export function createDeadLetterStore(database: Database) {
  return {
    /** Resolves once the letters are durable. Throws a `StoreUnavailableError` when the store cannot write them now. */
    write: (letters: readonly DeadLetter[]) =>
      database.insertRows(
        'dead_letters',
        letters.map((letter) => ({ ...toRow(letter), Version: letter.attempts, IsDeleted: 0 })),
      ),
    /** Deletes letters: they are never listed again, even when the same record comes again. */
    drop: (letters: readonly DeadLetter[]) =>
      database.insertRows(
        'dead_letters',
        letters.map((letter) => ({ ...toRow(letter), Body: '', Version: DROPPED_VERSION, IsDeleted: 1 })),
      ),
    ...bind(database, { list: readDeadLetters, count: countDeadLetters }),
  };
}

interface DeadLetterRow {
  Id: string;
  Source: string;
  Topic: string;
  Partition: number;
  FirstOffset: string;
  LastOffset: string;
  Tenant: string;
  Signal: string;
  Encoding: string;
  Body: string;
  Code: string;
  Reason: string;
  Attempts: number;
  FailedAtMs: string;
}

/** Lists letters, newest first: all, or those with these ids. */
async function readDeadLetters(
  database: Database,
  { limit, ids }: { readonly limit: number; readonly ids?: readonly string[] },
): Promise<StoredDeadLetter[]> {
  const rows = await database.rows<DeadLetterRow>(
    `SELECT * EXCEPT (WrittenAt, Version, IsDeleted) REPLACE (toString(FirstOffset) AS FirstOffset, toString(LastOffset) AS LastOffset), toUnixTimestamp64Milli(WrittenAt) AS FailedAtMs
     FROM dead_letters FINAL
     WHERE ${ids === undefined ? '1' : 'toString(Id) IN {ids:Array(String)}'}
     ORDER BY WrittenAt DESC, Id
     LIMIT {limit:UInt32}`,
    { limit, ...(ids === undefined ? {} : { ids }) },
  );
  return rows.map(fromRow);
}

async function countDeadLetters(database: Database): Promise<number> {
  const [row] = await database.rows<{ letters: number }>('SELECT count() AS letters FROM dead_letters FINAL');
  return row?.letters ?? 0;
}

function fromRow(row: DeadLetterRow): StoredDeadLetter {
  return {
    id: row.Id,
    source: row.Source,
    topic: row.Topic,
    partition: row.Partition,
    firstOffset: BigInt(row.FirstOffset),
    lastOffset: BigInt(row.LastOffset),
    tenant: row.Tenant,
    signal: row.Signal,
    encoding: row.Encoding,
    body: Buffer.from(row.Body, 'base64'),
    code: row.Code,
    reason: row.Reason,
    attempts: row.Attempts,
    failedAtMs: Number(row.FailedAtMs),
  };
}

function toRow(letter: DeadLetter): object {
  return {
    Id: letter.id,
    Source: letter.source,
    Topic: letter.topic,
    Partition: letter.partition,
    FirstOffset: String(letter.firstOffset),
    LastOffset: String(letter.lastOffset),
    Tenant: letter.tenant,
    Signal: letter.signal,
    Encoding: letter.encoding,
    Body: Buffer.from(letter.body).toString('base64'),
    Code: letter.code,
    Reason: letter.reason,
    Attempts: letter.attempts,
  };
}
