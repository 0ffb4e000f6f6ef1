import { EngineError } from '../engine-error.ts';
import { sqlString } from '../sql-statement.ts';
import type { ReaderAccount } from './reader-account.ts';
import { MIB } from '../../../domain/byte-sizes.ts';

/** Limits of one statement of a reader. A reader may ask for less. */
export const READER_LIMITS = {
  max_execution_time: 60,
  max_result_rows: 5_000_000,
  max_result_bytes: 1024 * MIB,
  max_threads: 2,
} as const;
/** The part of the engine's memory that one statement of a reader may take. */
const MEMORY_SHARE = 0.2;

/** Settings that change how a result is written, or how a query reads: none reaches beyond the query. */
const ALLOWED = new Set(
  [
    ['date_time_output_format', 'session_timezone', 'join_use_nulls', 'max_block_size'],
    ['result_overflow_mode', 'timeout_overflow_mode'],
    ['limit', 'offset', 'final', 'group_by_use_nulls', 'aggregate_functions_null_for_empty'],
    ['use_uncompressed_cache', 'prefer_column_name_to_alias', 'log_queries', 'log_comment'],
  ].flat(),
);
const ALLOWED_BEGINNINGS = ['output_format_', 'format_csv_', 'bool_'];
/** The path of a file that the engine writes. */
const NEVER = 'output_format_schema';

/**
 * Settings that make the engine leave out rows of other tenants before it computes anything else, so that not even an error
 * shows them.
 */
const TENANT_SETTINGS = [
  // No condition of the reader is computed beside or before the one on the tenant.
  ['optimize_move_to_prewhere', '0'],
  ['query_plan_optimize_prewhere', '0'],
  ['query_plan_merge_filters', '0'],
  ['short_circuit_function_evaluation', 'force_enable'],
  // No answer comes from what is known of parts, which hold rows of all tenants.
  ['optimize_trivial_count_query', '0'],
  ['optimize_use_implicit_projections', '0'],
  ['optimize_use_projections', '0'],
  ['output_format_write_statistics', '0'],
] as const;

function isAllowed(name: string): boolean {
  const isNamed = ALLOWED.has(name) || ALLOWED_BEGINNINGS.some((beginning) => name.startsWith(beginning));
  return isNamed && name !== NEVER;
}

function isLimit(name: string): name is keyof typeof READER_LIMITS {
  return Object.hasOwn(READER_LIMITS, name);
}

/** The lower one of what a reader asks for and what it may have; 0 asks for all. */
function lowerLimit(name: keyof typeof READER_LIMITS, value: string): string {
  const asked = Number(value);
  if (!(asked >= 0)) {
    throw new EngineError('BAD_ARGUMENTS', `The setting ${name} is a number from 0 on, not '${value}'`);
  }
  return String(asked === 0 ? READER_LIMITS[name] : Math.min(asked, READER_LIMITS[name]));
}

/** The settings of a request, within the limits. Throws READONLY for one that readers may not set. */
function allowedSettings(settings: ReadonlyMap<string, string>): Map<string, string> {
  const allowed = new Map(Object.entries(READER_LIMITS).map(([name, value]) => [name, String(value)]));
  for (const [name, value] of settings) {
    if (isLimit(name)) {
      allowed.set(name, lowerLimit(name, value));
    } else if (isAllowed(name)) {
      allowed.set(name, value);
    } else if (name !== 'readonly' || (value !== '1' && value !== '2')) {
      // A client that asks to be read-only is so already.
      throw new EngineError(
        'READONLY',
        `A reader may not set ${name} to '${value}'. A reader may set ` +
          `${[...Object.keys(READER_LIMITS), ...ALLOWED].join(', ')} and ${ALLOWED_BEGINNINGS.join('*, ')}*`,
      );
    }
  }
  return allowed;
}

/** A map from each table to the rows of it that the reader may see, as the engine takes it. */
function tableFilters({ database, tables }: ReaderAccount, tenant: string): string {
  const condition = sqlString(`Tenant = ${sqlString(tenant)}`);
  return `{${tables.map((table) => `${sqlString(`${database}.${table}`)}: ${condition}`).join(', ')}}`;
}

/** All settings of a reader's session. The last one makes the engine refuse to change any. */
export function readerSettings(
  reader: ReaderAccount,
  asked: ReadonlyMap<string, string>,
  memoryLimitBytes: number,
): Map<string, string> {
  const settings = allowedSettings(asked);
  settings.set('max_memory_usage', String(Math.floor(memoryLimitBytes * MEMORY_SHARE)));
  // What other statements found out about rows is not asked, and nothing is left for them.
  settings.set('use_query_condition_cache', '0');
  if (reader.tenant !== undefined) {
    settings.set('additional_table_filters', tableFilters(reader, reader.tenant));
    for (const [name, value] of TENANT_SETTINGS) {
      settings.set(name, value);
    }
  }
  settings.set('readonly', '1');
  return settings;
}
