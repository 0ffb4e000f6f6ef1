import type { DeadLetter, StoredDeadLetter } from '../contracts/dead-letters.ts';
import { bind, type Database, readValue } from '../database.ts';
import { deadLetterRows } from '../table-rows.ts';

/** Above the version of every attempt: a dropped letter stays dropped. */
const DROPPED_VERSION = 2 ** 40;

/** Records that could not be taken in. */
export function createDeadLetterStore(database: Database) {
  return {
    /** Resolves once the letters are durable. Throws a `StoreUnavailableError` when the store cannot write them now. */
    write: (letters: readonly DeadLetter[]) => deadLetterRows.write(database, letters),
    /** Deletes letters: they are never listed again, even when the same record comes again. */
    drop: (letters: readonly DeadLetter[]) =>
      database.insertRows(
        'dead_letters',
        letters.map((letter) => ({
          ...deadLetterRows.encode(letter),
          Body: '',
          Version: DROPPED_VERSION,
          IsDeleted: 1,
        })),
      ),
    ...bind(database, { list: readDeadLetters, count: countDeadLetters }),
  };
}

/** Lists letters, newest first: all, or those with these ids. */
function readDeadLetters(
  database: Database,
  { limit, ids }: { readonly limit: number; readonly ids?: readonly string[] },
): Promise<StoredDeadLetter[]> {
  return deadLetterRows.read<{ failedAtMs: number }>(
    database,
    `, toUnixTimestamp64Milli(WrittenAt) AS failedAtMs
     FROM dead_letters FINAL
     WHERE ${ids === undefined ? '1' : 'toString(Id) IN {ids:Array(String)}'}
     ORDER BY WrittenAt DESC, Id
     LIMIT {limit:UInt32}`,
    { limit, ...(ids === undefined ? {} : { ids }) },
  );
}

async function countDeadLetters(database: Database): Promise<number> {
  return (await readValue(database, 'SELECT count() FROM dead_letters FINAL')) ?? 0;
}
