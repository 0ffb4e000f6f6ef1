import { readErrorMessage, StoreRejectedError } from '../../domain/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Database } from '../database.ts';

/** Settings of tables by name, as SQL literals. */
type Settings = Readonly<Record<string, string>>;

/**
 * Merge selector of tables with many small inserts. The usual selector adds 5 MB to the size of each part. So a small table looks
 * no larger than its new parts, and it is rewritten after every few inserts. `Trivial` merges ten parts of a level: a row is rewritten
 * once for each tenfold growth of its table.
 */
const FEW_REWRITES: Settings = { merge_selector_algorithm: "'Trivial'" };

/** The next best for servers without that selector: it rewrites a third of the rows. */
const FEWER_REWRITES: Settings = { merge_selector_enable_heuristic_to_remove_small_parts_at_right: '0' };

/** Merges a partition that got no insert for a day into one part. `Trivial` leaves up to nine parts of each level. */
const WHOLE_PARTITIONS: Settings = {
  min_age_to_force_merge_seconds: '86400',
  min_age_to_force_merge_on_partition_only: '1',
};

/** Tables with an insert every second or two, whose partitions get no inserts after their day, week or month. */
const PARTITIONED = [
  'otel_traces',
  'otel_logs',
  'trace_arrivals',
  'trace_activity',
  'trace_starts',
  'score_arrivals',
  'decision_arrivals',
  'judge_calls',
  'spend',
  'exports',
  'score_hours',
  'score_days',
  'decision_hours',
];

/** Tables with an insert every second or two, whose parts are never finished. */
const UNPARTITIONED = ['decisions', 'scores', 'runs', 'score_starts', 'run_starts', 'deploy_markers'];

/**
 * Settings of each table, the best first. The other tables keep their selector. They have few rows and replace them (beats, progress,
 * states): there a merge leaves one row, and reads count on few parts.
 */
const CHOICES: readonly (readonly [string, readonly Settings[]])[] = [
  ...PARTITIONED.map(
    (table) =>
      [table, [FEW_REWRITES, FEWER_REWRITES, {}].map((each) => ({ ...each, ...WHOLE_PARTITIONS }))] as const,
  ),
  ...UNPARTITIONED.map((table) => [table, [FEW_REWRITES, FEWER_REWRITES]] as const),
];

/**
 * Alters the merge settings of tables with other ones. A server may refuse a setting: it then gets the next choice, and its merges cost
 * more. Two processes may do this at once. Never throws: everything works without these settings.
 * @param definitions CREATE statements of the tables, by name
 */
export async function applyMergeSettings(
  database: Pick<Database, 'command'>,
  definitions: ReadonlyMap<string, string>,
  log?: Log,
): Promise<void> {
  /** Index of the first choice that the server did not refuse. */
  let best = 0;
  for (const [table, choices] of CHOICES) {
    const definition = definitions.get(table) ?? '';
    for (const settings of choices.slice(best)) {
      if (hasSettings(definition, settings)) {
        break;
      }
      const changes = formatSettings(settings).join(', ');
      try {
        await database.command(`ALTER TABLE ${table} MODIFY SETTING ${changes}`);
        break;
      } catch (error) {
        log?.info('merge settings not changed: merges of this table cost more', {
          table,
          settings: changes,
          error: readErrorMessage(error),
        });
        if (!(error instanceof StoreRejectedError)) {
          return;
        }
        best += 1;
      }
    }
  }
}

function formatSettings(settings: Settings): string[] {
  return Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
}

/** Returns true when the CREATE statement of a table, as the store prints it, has the settings. */
function hasSettings(definition: string, settings: Settings): boolean {
  const start = definition.lastIndexOf(' SETTINGS ');
  const own = start < 0 ? [] : definition.slice(start + ' SETTINGS '.length).split(', ');
  return formatSettings(settings).every((setting) => own.includes(setting));
}
