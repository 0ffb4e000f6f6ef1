import { randomUUID } from 'node:crypto';
import { type Database, readValue } from '../database.ts';
import { toDateTime } from '../values.ts';

/** Kind of work whose progress is a time of the store's clock. */
type ProgressKind = 'aggregate' | 'export' | 'monitor' | 'source';

/** Reads the time until which work is done, Unix milliseconds; null before its first mark. */
export async function readDoneUntil(
  database: Database,
  kind: ProgressKind,
  name: string,
): Promise<number | null> {
  const sql = `SELECT toUnixTimestamp64Milli(maxOrNull(DoneUntil)) FROM progress
     WHERE Kind = {kind:String} AND Name = {name:String}`;
  return (await readValue<number | null>(database, sql, { kind, name })) ?? null;
}

/** Records the time until which work is done. A time before the stored one changes nothing. */
export function markDoneUntil(
  database: Database,
  kind: ProgressKind,
  name: string,
  untilMs: number,
): Promise<void> {
  const row = { Kind: kind, Name: name, DoneUntil: toDateTime(untilMs) };
  // A mark may be repeated after the progress was forgotten, so each insert has a token of its own.
  return database.insertRows('progress', [row], randomUUID());
}

/** Forgets the progress of work. A time that is ahead of the store's clock would hide what is written from now on. */
export function forgetProgress(database: Database, kind: ProgressKind, name: string): Promise<void> {
  return database.insertSelected('DELETE FROM progress WHERE Kind = {kind:String} AND Name = {name:String}', {
    kind,
    name,
  });
}
