import { MIB } from '../../domain/byte-sizes.ts';
import type { ExportedScores, ExportFormat, ScoreExport } from '../contracts/score-export.ts';
import type { Database } from '../database.ts';
import type { QueryParams } from '../query-params.ts';

/** Memory for the runs of the join, bytes. Beyond it they go to disk. */
const MAX_JOIN_BYTES = 128 * MIB;

const ENGINE_FORMATS: Readonly<Record<ExportFormat, string>> = {
  parquet: 'Parquet',
  csv: 'CSVWithNames',
  ndjson: 'JSONEachRow',
};

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

export function createScoreExport(database: Database): ScoreExport {
  return {
    read(scores, format) {
      const { conditions, params } = buildConditions(scores);
      return database.bytes(
        `SELECT score.*, ${RUN_COLUMNS.map((name) => `run.${name} AS Run${name}`).join(', ')}
         FROM (
           SELECT * EXCEPT (Version, IsDeleted) REPLACE (toString(ScoreId) AS ScoreId)
           FROM scores FINAL WHERE ${conditions.join(' AND ')}
         ) AS score
         LEFT JOIN (
           SELECT Tenant, TraceId, Target, TargetId, ${RUN_COLUMNS.join(', ')} FROM runs FINAL
         ) AS run
         ON score.Tenant = run.Tenant AND score.TraceId = run.TraceId
           AND score.Target = run.Target AND score.TargetId = run.TargetId
         SETTINGS ${Object.entries(SETTINGS)
           .map(([name, value]) => `${name} = ${value}`)
           .join(', ')}
         FORMAT ${ENGINE_FORMATS[format]}`,
        params,
      );
    },
  };
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
