import { MIB } from '../../domain/byte-sizes.ts';
import { COMPUTED_TEXT } from '../../domain/text-encoding.ts';
import type { ExportedScores, ExportFormat } from '../contracts/score-feed.ts';
import { type Database, readValue } from '../database.ts';
import type { QueryParams } from '../values.ts';

/** Memory for the runs of the join, bytes. Beyond it they go to disk. */
const MAX_JOIN_BYTES = 128 * MIB;

/** Most scores whose keys are held in memory to read nothing else. A larger part of the tables is read whole. */
const MAX_KEYS = 200_000;

/** Key of the table. The column is meant, not the text that the export makes of it. */
const SCORE_KEY = 'Tenant, Scorer, Day, scores.ScoreId';

const ENGINE_FORMATS: Readonly<Record<ExportFormat, string>> = {
  parquet: 'Parquet',
  csv: 'CSVWithNames',
  ndjson: 'JSONEachRow',
};

/** Columns that only the store needs. */
const LEFT_OUT: readonly string[] = ['Version', 'IsDeleted'];

/** Facts of a run that its score rows do not have. */
const RUN_COLUMNS = [
  'Models',
  'InputTokens',
  'OutputTokens',
  'TotalTokens',
  'ReasoningTokens',
  'CachedInputTokens',
  'CostUsd',
  'StartedAt',
  'DurationMs',
  'Status',
  'ErrorType',
  'ToolCalls',
  'ToolErrors',
  'Turns',
];

/** A score without a stored run, and one of a session, has no value in the columns of the run. */
const SETTINGS = {
  join_use_nulls: '1',
  join_algorithm: "'grace_hash'",
  max_bytes_in_join: String(MAX_JOIN_BYTES),
  date_time_output_format: "'iso'",
  output_format_json_quote_64bit_integers: '0',
  output_format_json_quote_denormals: '1',
  output_format_parquet_string_as_string: '1',
};

/**
 * Creates the export of scores with the facts of their runs.
 * @param maxKeys most scores that are read by their keys
 */
export function createScoreExport(database: Database, maxKeys: number = MAX_KEYS) {
  return {
    /**
     * Streams the current scores with the columns of their runs (`Run…`) in a format of the store, in no order. No spreadsheet computes a
     * text of CSV, unless it is raw. Throws before the first byte, or not at all, unless the connection breaks.
     */
    async *read(
      scores: ExportedScores,
      format: ExportFormat,
      { isRaw = false }: { readonly isRaw?: boolean | undefined } = {},
    ): AsyncGenerator<Uint8Array> {
      const { conditions, params } = buildConditions(scores);
      const where = conditions.join(' AND ');
      const isFew = await hasFewScores(database, { where, params, most: maxKeys });
      yield* database.bytes(
        `SELECT ${await selectColumns(database, format, isRaw)}
         FROM (
           SELECT * EXCEPT (${LEFT_OUT.join(', ')}) REPLACE (toString(ScoreId) AS ScoreId)
           FROM scores FINAL WHERE ${where}${isFew ? ` AND ${keysOf(SCORE_KEY, where)}` : ''}
         ) AS score
         LEFT JOIN (
           SELECT Tenant, TraceId, Target, TargetId, ${RUN_COLUMNS.join(', ')} FROM runs FINAL
           ${isFew ? `WHERE ${keysOf('Tenant, TraceId', where)}` : ''}
         ) AS run
         ON score.Tenant = run.Tenant AND score.TraceId = run.TraceId
           AND score.Target = run.Target AND score.TargetId = run.TargetId
         SETTINGS ${Object.entries(SETTINGS)
           .map(([name, value]) => `${name} = ${value}`)
           .join(', ')}
         FORMAT ${ENGINE_FORMATS[format]}`,
        { ...params, computed: COMPUTED_TEXT },
      );
    },
  };
}

/** Selects the columns of scores and runs. JSON has the names of the columns in camelCase, as the API and the other commands have. */
async function selectColumns(database: Database, format: ExportFormat, isRaw: boolean): Promise<string> {
  const columns = await database.rows<{ table: string; name: string; isText: boolean }>(
    `SELECT table, name, match(type, '^(LowCardinality[(]|Nullable[(])*String') AS isText FROM system.columns
     WHERE database = currentDatabase() AND (table = 'scores' AND name NOT IN {leftOut:Array(String)} OR table = 'runs' AND name IN {ofRuns:Array(String)})
     ORDER BY table = 'runs', indexOf({ofRuns:Array(String)}, name), position`,
    { leftOut: LEFT_OUT, ofRuns: RUN_COLUMNS },
  );
  const named = (name: string) =>
    format === 'ndjson' ? `${name.charAt(0).toLowerCase()}${name.slice(1)}` : name;
  return columns
    .map(({ table, name, isText }) => {
      const column = table === 'runs' ? `run.${name}` : `score.${name}`;
      const value =
        format === 'csv' && isText && !isRaw
          ? `replaceRegexpOne(${column}, {computed:String}, '\\'\\\\0')`
          : column;
      return `${value} AS ${named(table === 'runs' ? `Run${name}` : name)}`;
    })
    .join(', ');
}

/** Returns true when the scores, old revisions included, are few enough to be read by their keys. */
async function hasFewScores(
  database: Database,
  { where, params, most }: { readonly where: string; readonly params: QueryParams; readonly most: number },
): Promise<boolean> {
  const sql = `SELECT count() FROM (SELECT 1 FROM scores WHERE ${where} LIMIT ${most + 1})`;
  return ((await readValue(database, sql, params)) ?? 0) <= most;
}

/** Builds a condition by which the index finds the rows of the export. Rows that FINAL would take away are looked for in vain. */
function keysOf(columns: string, where: string): string {
  return `(${columns}) IN (SELECT ${columns} FROM scores WHERE ${where})`;
}

function buildConditions({ tenant, scorers, sinceMs, untilMs }: ExportedScores): {
  conditions: string[];
  params: QueryParams;
} {
  const known: [string, unknown, string][] = [
    ['tenant', tenant, 'Tenant = {tenant:String}'],
    ['scorers', scorers, 'Scorer IN {scorers:Array(String)}'],
    ['since', Math.max(0, Math.trunc(sinceMs)), 'ScoredAt >= fromUnixTimestamp64Milli({since:Int64})'],
    ['until', untilMs, 'ScoredAt < fromUnixTimestamp64Milli({until:Int64})'],
  ];
  const given = known.filter(([, value]) => value !== undefined);
  return {
    conditions: given.map(([, , condition]) => condition),
    params: Object.fromEntries(given.map(([name, value]) => [name, value])),
  };
}
