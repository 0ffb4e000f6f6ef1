import { ConfigError, readErrorMessage, StoreRejectedError } from '../../domain/errors.ts';
import type { Database } from '../database.ts';
import type { Log } from '../../telemetry/log.ts';

/** Days that rows are kept, from their arrival (spans) or from their write (scores). */
export interface Retention {
  readonly spansDays: number;
  readonly scoresDays: number;
  /** Days within which a trace may still be scored later; arrivals live longer. Default 3. */
  readonly catchUpDays?: number;
}

/** Days that arrivals are kept. Live scoring looks for undecided traces over all of them. */
export function countArrivalDays(catchUpDays = 3): number {
  return Math.max(3, Math.ceil(catchUpDays)) + 1;
}

/** Extra days for activity rows, which are kept by the week of their arrival: the rest of that week. */
const WEEK_DAYS = 7;

/** Days of the longest month, and one more: a budget of a month needs all its entries. */
const BUDGET_DAYS = 32;

/** Days after which monitors no longer read a row. */
const TAILED_DAYS = 30;

/** The store sets this time. Neither a scorer's clock nor a wrong time of a sender can delete a row early. */
const WRITTEN = 'toDateTime(WrittenAt)';

/** Arrival of the last span of a run, by the store's clock: a run that is written again does not keep its texts longer. */
const LAST_ARRIVAL = 'toDateTime(EvidenceUntil)';

interface Expiry {
  readonly table: string;
  /** SQL for the date or time from which the days are counted. */
  readonly from: string;
  readonly days: number;
  /** Set when only this column expires and the row stays. */
  readonly column?: string;
}

/**
 * Lists the expiry of each table. Spans never live longer than decisions (a sweep would find them undecided and score them
 * again). Quotes of spans expire with the spans: judge calls, the verdicts of a score, the texts of a run.
 */
export function listExpiries({ spansDays, scoresDays, catchUpDays }: Retention): Expiry[] {
  const scores = Math.max(scoresDays, spansDays);
  return [
    { table: 'otel_traces', from: 'toDateTime(ArrivedAt)', days: spansDays },
    { table: 'otel_logs', from: 'toDateTime(ArrivedAt)', days: spansDays },
    { table: 'trace_arrivals', from: 'toDateTime(ArrivedAt)', days: countArrivalDays(catchUpDays) },
    { table: 'trace_activity', from: 'ArrivedWeek', days: spansDays + WEEK_DAYS },
    { table: 'trace_starts', from: 'ArrivedWeek', days: spansDays + WEEK_DAYS },
    { table: 'dead_letters', from: WRITTEN, days: spansDays },
    { table: 'judge_calls', from: WRITTEN, days: spansDays },
    { table: 'scores', column: 'Verdicts', from: WRITTEN, days: spansDays },
    ...['runs', 'run_starts'].flatMap((table) =>
      ['Question', 'Answer'].map((column) => ({ table, column, from: LAST_ARRIVAL, days: spansDays })),
    ),
    ...['Text', 'Evidence'].map((column) => ({
      table: 'failures',
      column,
      from: LAST_ARRIVAL,
      days: spansDays,
    })),
    { table: 'failures', from: WRITTEN, days: scores },
    { table: 'issues', from: WRITTEN, days: scores },
    { table: 'decisions', from: WRITTEN, days: scores },
    { table: 'runs', from: WRITTEN, days: scores },
    { table: 'run_starts', from: WRITTEN, days: scores },
    { table: 'score_starts', from: WRITTEN, days: scores },
    { table: 'scores', from: WRITTEN, days: scores },
    { table: 'score_hours', from: WRITTEN, days: scores },
    { table: 'score_days', from: WRITTEN, days: scores },
    { table: 'decision_hours', from: WRITTEN, days: scores },
    { table: 'run_hours', from: WRITTEN, days: scores },
    { table: 'deliveries', from: WRITTEN, days: scores },
    { table: 'spend', from: WRITTEN, days: Math.max(scores, BUDGET_DAYS) },
    { table: 'score_arrivals', from: WRITTEN, days: Math.min(TAILED_DAYS, scores) },
    { table: 'decision_arrivals', from: WRITTEN, days: Math.min(TAILED_DAYS, scores) },
    { table: 'monitor_buckets', from: WRITTEN, days: scores },
    { table: 'alert_events', from: WRITTEN, days: scores },
    { table: 'anchors', from: WRITTEN, days: scores },
    { table: 'audit', from: WRITTEN, days: scores },
  ];
}

/**
 * Alters the tables with a different expiry; an older schema lacks some of them. Two processes may do this at once.
 * @param definitions CREATE statements of the tables, by name
 */
export async function applyRetention(
  database: Database,
  definitions: ReadonlyMap<string, string>,
  retention: Retention,
  log?: Log,
): Promise<void> {
  checkDays('spans', retention.spansDays);
  checkDays('scores', retention.scoresDays);
  for (const expiry of listExpiries(retention)) {
    const definition = definitions.get(expiry.table);
    const days = currentDays(definition ?? '', expiry.column);
    if (definition !== undefined && days !== expiry.days) {
      await database.command(`ALTER TABLE ${expiry.table} ${buildChange(expiry)}`);
      log?.info('retention changed', {
        table: expiry.table,
        column: expiry.column ?? '',
        days: expiry.days,
        before: days,
      });
    }
  }
}

/** Ten years. The column types hold dates up to 2149. */
const MOST_DAYS = 3660;

function checkDays(what: string, days: number): void {
  if (!Number.isInteger(days) || days < 1 || days > MOST_DAYS) {
    throw new ConfigError(`store.retention.${what}: ${days} days; write whole days from 1d to ${MOST_DAYS}d`);
  }
}

/** Reads the days of the table's own expiry, or of one column's expiry; null without one. */
export function currentDays(definition: string, column?: string): number | null {
  const split = definition.lastIndexOf(') ENGINE = ');
  const match =
    column === undefined
      ? / TTL [^,]*?toIntervalDay\((\d+)\)/.exec(definition.slice(split))
      : new RegExp(`\`${column}\` [^,]*? TTL [^,]*?toIntervalDay\\((\\d+)\\)`).exec(
          definition.slice(0, split),
        );
  return match === null ? null : Number(match[1]);
}

function buildChange({ column, from, days }: Expiry): string {
  const ttl = `${from} + toIntervalDay(${days})`;
  return column === undefined
    ? `MODIFY TTL ${ttl}`
    : `MODIFY COLUMN ${column} String CODEC(ZSTD(1)) TTL ${ttl}`;
}

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
  'scores',
  'score_arrivals',
  'decision_arrivals',
  'judge_calls',
  'spend',
  'deliveries',
  'score_hours',
  'score_days',
  'decision_hours',
  'run_hours',
];

/** Tables with an insert every second or two, whose parts are never finished. */
const UNPARTITIONED = ['decisions', 'runs', 'failures', 'score_starts', 'run_starts', 'deploy_markers'];

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
