import { BACKFILL_RULES, COMMAND_RULE, WHOLE_RULE } from '../../domain/decision.ts';
import { InvalidInputError, StoreRejectedError } from '../../domain/errors.ts';
import { COPY_LIMIT_MS, orderTables } from './backup-store.ts';
import { type Database, readValue } from '../database.ts';
import { openDatabase } from '../open-database.ts';
import {
  createSchema,
  hasTables,
  markFinished,
  markUnfinished,
  readDefinitions,
  readSchema,
  readUnfinished,
  shortenVersion,
} from '../schema/schema.ts';
import { applyRetention } from '../schema/table-settings.ts';
import type { StoreOptions } from '../store.ts';

/** Tables to restore. */
export interface RestoreSource {
  /** Name within the backups folder of the engine. */
  readonly folder: string;
  /** Database from which the tables were copied. */
  readonly database: string;
  readonly schema: string;
  readonly tables: Readonly<Record<string, { readonly rows: number }>>;
}

/** Opens the database that a restore fills. It need not exist. Every step can be repeated from the first one. */
export function openRestoreStore(options: StoreOptions) {
  const database = openDatabase({ ...options, statementLimitMs: COPY_LIMIT_MS });
  return {
    /** Throws for a database in use, and for a backup with another schema. */
    refuseUsed: async ({ schema }: Pick<RestoreSource, 'schema'>) => {
      const { version } = readSchema();
      if (schema !== version) {
        throw new InvalidInputError(
          `the backup has schema ${shortenVersion(schema)}, but this version of spanscore needs ${shortenVersion(version)}: restore it with the version that made it`,
        );
      }
      if ((await readUnfinished(database)) !== 'restore' && (await hasTables(database))) {
        throw new InvalidInputError(
          'the data directory has a store already: restore into another one with --data-dir, or move its folder away',
        );
      }
    },
    load: (source: RestoreSource, onTable: (table: string) => void) =>
      load(database, { ...source, retention: options.retention }, onTable),
    reopenLostScores: () => reopenLostScores(database),
    /** Lets every process open the database. */
    finish: () => markFinished(database),
    close: () => database.close(),
  };
}

/** Creates the database with the tables of the backup, and fills them. No other process can open it before `finish`. */
async function load(
  database: Database,
  source: RestoreSource & Pick<StoreOptions, 'retention'>,
  onTable: (table: string) => void,
): Promise<void> {
  await database.outside.command(`DROP DATABASE IF EXISTS ${database.name} SYNC`);
  await database.outside.command(`CREATE DATABASE ${database.name} ENGINE = Atomic`);
  await markUnfinished(database, 'restore');
  await createSchema(database);
  await applyRetention(database, await readDefinitions(database), source.retention);
  // A merge would remove superseded and expired rows before they are counted.
  await database.command('SYSTEM STOP MERGES');
  for (const table of orderTables(Object.keys(source.tables)).flat()) {
    onTable(table);
    const copied = `${source.database}.${table} AS ${database.name}.${table} FROM File('${source.folder}/${table}')`;
    await database.command(
      `RESTORE TABLE ${copied} SETTINGS create_table = 0, allow_different_table_def = 1`,
    );
    const found = await readValue(database, `SELECT count() FROM ${table}`);
    const expected = source.tables[table]?.rows;
    if (found !== expected) {
      throw new StoreRejectedError(
        `the table ${table} of the backup is damaged: it has ${found} rows, but backup.json says ${expected}; restore another backup`,
        { table },
      );
    }
  }
  await database.command('SYSTEM START MERGES');
}

/** A score belongs to a scorer by its name, or by the name of one of its rows (`findRowScorer`). */
const HAS_SCORE = `arrayExists(
  name -> name = Scorer OR startsWith(name, concat(Scorer, '-')) OR startsWith(name, concat(Scorer, '/')), names)`;

const IS_LIVE = `NOT startsWith(Rule, '${BACKFILL_RULES}') AND Rule != '${COMMAND_RULE}'`;

/** Attempts are the last ten bits of a version. */
const MOST_ATTEMPTS = 1_023;

/** Decisions `scored` without a score. */
const LOST = `SELECT decided.*, names FROM (
    SELECT * FROM decisions FINAL WHERE Status = 'scored' AND Scorer != '${WHOLE_RULE}') AS decided
  LEFT JOIN (
    SELECT Tenant, TraceId, Target, TargetId, groupUniqArray(toString(Scorer)) AS names FROM scores FINAL
    GROUP BY Tenant, TraceId, Target, TargetId) AS scored
  USING (Tenant, TraceId, Target, TargetId)
  WHERE NOT ${HAS_SCORE}`;

/**
 * Reopens decisions `scored` whose score is not stored. Live scoring tries them again at once. Decisions of a backfill or a command
 * become `failed`, because nobody tries them again. Returns their number.
 */
async function reopenLostScores(database: Database): Promise<number> {
  const lost = await readValue(database, `SELECT count() FROM (${LOST})`);
  await database.insertSelected(
    `INSERT INTO decisions SELECT * EXCEPT names REPLACE (
       if(${IS_LIVE}, 'deferred', 'failed') AS Status,
       if(${IS_LIVE}, 'score_lost: the score was not in the restored data; it is made again',
         'score_lost: the score was not in the restored data; score the target again') AS Reason,
       if(${IS_LIVE}, now64(3), NULL) AS NextAttemptAt,
       least(Attempts + 1, ${MOST_ATTEMPTS}) AS Attempts, Version + 1 AS Version,
       now64(3) AS DecidedAt, now64(3) AS WrittenAt)
     FROM (${LOST})`,
    {},
  );
  return lost ?? 0;
}
