import { FACT_KEYS } from '../../conventions/fact-keys.ts';
import { joinTraceKey, type TraceActivity, type TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { COUNTS, formatSettings, logRows, spanRows, STATUS, WANTED_TRACES } from './foreign-rows.ts';
import { attributeColumn, type ForeignSchema, type ForeignTable, valueOfJsonText } from './foreign-schema.ts';
import { readActivity } from '../spans/arrivals.ts';
import { ASKED_OF_MAPS, type FactRows, type SpanTables, valueOfMap } from '../spans/span-tables.ts';
import { keyParams } from '../spans/trace-keys.ts';
import type { QueryParams } from '../values.ts';

/** Creates the source of spans for a foreign schema. `known` returns the activity of a trace that is known already. */
export function foreignTables(
  database: Database,
  schema: ForeignSchema,
  known: (key: TraceKey) => Remembered | undefined,
): SpanTables {
  const params = async (keys: readonly TraceKey[]) => {
    const remembered = keys.flatMap((key) => known(key) ?? []);
    const activities = remembered.map(({ activity }) => activity);
    if (remembered.length === keys.length && remembered.every(({ isRecent }) => isRecent)) {
      return foreignParams(keys, listBounds(activities));
    }
    return foreignParams(keys, await readBounds(database, schema.lookup, { keys, activities }));
  };
  return {
    spans: spanRows(schema.traces),
    logs: schema.logs === null ? null : logRows(schema.logs, database.signals),
    logOrder: 'Block, RowInPart',
    within: '1',
    hasFeedbackEvents: false,
    attributeKeys: 'AttributeKeys',
    attribute: schema.traces.attributes === 'map' ? valueOfMap : valueOfJsonText,
    params,
    facts: async (keys, attributeKeys) =>
      factRows(database, schema.traces, attributeKeys, await params(keys)),
  };
}

/** Returns the parameters of `WANTED_TRACES` and `logRows`, and those of our own tables. The exporter has no tenants. */
export function foreignParams(keys: readonly TraceKey[], bounds: TimeBounds): QueryParams {
  const logs = buildWindow(bounds);
  return {
    ...keyParams(keys),
    traceIds: keys.filter((key) => key.tenant === '').map((key) => key.traceId),
    boundFrom: String(bounds.from),
    boundTo: String(bounds.to),
    logsFrom: String(logs.from),
    logsTo: String(logs.to),
  };
}

async function factRows(
  database: Database,
  table: ForeignTable,
  attributeKeys: readonly string[],
  params: QueryParams,
): Promise<FactRows> {
  const select = (
    columns: string,
  ) => `(SELECT '' AS Tenant, origin.TraceId AS TraceId, origin.ScopeName AS ScopeName,
      origin.ServiceName AS ServiceName, ${STATUS} AS StatusCode, ${columns}
    FROM ${table.name} AS origin WHERE ${WANTED_TRACES} ${formatSettings(table)})`;
  if (table.attributes === 'map') {
    return {
      from: select(FACTS_OF_MAPS),
      asked: ASKED_OF_MAPS,
      params: { ...params, attributeKeys, factKeys: FACT_KEYS.span, resourceFactKeys: FACT_KEYS.resource },
    };
  }
  const spanKeys = [...FACT_KEYS.span, ...(await feedbackKeys(database, table, params))];
  const pairs = new Pairs();
  const facts = [
    ...spanKeys.map((key) => pairs.pair(key, attributeColumn('SpanAttributes', 'json', table.columns))),
    ...FACT_KEYS.resource.map((key) =>
      pairs.pair(key, attributeColumn('ResourceAttributes', 'json', table.columns)),
    ),
  ];
  const asked = attributeKeys.flatMap((key) =>
    ['SpanAttributes', 'ResourceAttributes'].map((name) =>
      pairs.pair(key, attributeColumn(name, 'json', table.columns)),
    ),
  );
  const present = (list: readonly string[]) =>
    `arrayFilter(each -> each.2 != '', CAST([${list.join(', ')}], 'Array(Tuple(String, String))'))`;
  return {
    from: select(`CAST(${present(facts)}, 'Map(String, String)') AS Facts, ${present(asked)} AS Asked`),
    asked: 'Asked',
    params: { ...params, ...pairs.params },
  };
}

const FACTS_OF_MAPS = `mapConcat(
  mapFilter((key, value) -> has({factKeys:Array(String)}, key) OR position(key, 'feedback') > 0, origin.SpanAttributes),
  mapFilter((key, value) -> has({resourceFactKeys:Array(String)}, key), origin.ResourceAttributes)) AS Facts,
  origin.SpanAttributes AS SpanAttributes, origin.ResourceAttributes AS ResourceAttributes`;

/** SQL pairs of a key and its value in JSON columns. The keys are query parameters. */
class Pairs {
  readonly params: Record<string, string> = {};

  pair(key: string, column: { value(key: string): string }): string {
    const name = `pair${Object.keys(this.params).length}`;
    this.params[name] = key;
    return `({${name}:String}, ${column.value(`{${name}:String}`)})`;
  }
}

/** Reads the keys of feedback attributes. They differ between emitters, so the query finds them. */
async function feedbackKeys(database: Database, table: ForeignTable, params: QueryParams): Promise<string[]> {
  const { keys } = attributeColumn('SpanAttributes', table.attributes, table.columns);
  const rows = await database.rows<{ key: string }>(
    `SELECT DISTINCT arrayJoin(arrayFilter(name -> position(name, 'feedback') > 0, ${keys})) AS key
     FROM ${table.name} AS origin WHERE ${WANTED_TRACES} AND ${COUNTS} LIMIT ${MOST_FEEDBACK_KEYS}`,
    params,
  );
  return rows.map((row) => row.key);
}

const MOST_FEEDBACK_KEYS = 20;

/** Activity from an earlier look-up. */
export interface Remembered {
  readonly activity: TraceActivity;
  /** True shortly after the look-up: a pass reads the spans that its look-up has seen. */
  readonly isRecent: boolean;
}

/** Unix nanoseconds, both inclusive. */
export interface TimeBounds {
  readonly from: bigint;
  readonly to: bigint;
}

const SECOND = 1_000_000_000n;

/** Range around a known span in which a trace's other spans may have started. */
const AROUND = 24n * 3600n * SECOND;

/** The last moment that a time column holds. */
const LATEST = 2n ** 63n - 1n;

/** Bounds that exclude nothing. */
const ALWAYS: TimeBounds = { from: 0n, to: LATEST };

/**
 * Returns the range of starts of these traces, so that a table without an order by trace is not searched completely: from
 * the exporter's table of starts when it has all of them, else a day around the known spans, else no limit.
 */
export async function readBounds(
  database: Database,
  lookup: string | null,
  { keys, activities }: { keys: readonly TraceKey[]; activities: readonly TraceActivity[] },
): Promise<TimeBounds> {
  const seen = [...activities, ...(await readActivity(database, missingIn(keys, activities))).values()];
  const exact = lookup === null ? null : await lookUp(database, lookup, keys);
  if (exact !== null) {
    return seen.length === 0 ? exact : union([listBounds(seen), exact]);
  }
  if (seen.length < keys.length) {
    return ALWAYS;
  }
  return buildWindow(listBounds(seen));
}

/** Returns the range of the known spans of traces; at least one trace. */
export function listBounds(activities: readonly TraceActivity[]): TimeBounds {
  return union(activities.map((each) => ({ from: each.firstStartUnixNano, to: each.lastEndUnixNano })));
}

/** Returns the bounds extended by a day on both sides. */
export function buildWindow({ from, to }: TimeBounds): TimeBounds {
  return { from: from > AROUND ? from - AROUND : 0n, to: to < LATEST - AROUND ? to + AROUND : LATEST };
}

function missingIn(keys: readonly TraceKey[], activities: readonly TraceActivity[]): TraceKey[] {
  const known = new Set(activities.map(joinTraceKey));
  return keys.filter((key) => !known.has(joinTraceKey(key)));
}

/** Returns null when one of the traces is missing. Times are whole seconds, rounded down. */
async function lookUp(
  database: Database,
  lookup: string,
  keys: readonly TraceKey[],
): Promise<TimeBounds | null> {
  const traceIds = [...new Set(keys.map((key) => key.traceId))];
  const [row] = await database.rows<{ from: number; to: number; traces: number }>(
    `SELECT toUnixTimestamp(min(Start)) AS from, toUnixTimestamp(max(End)) AS to, uniqExact(TraceId) AS traces
     FROM ${lookup} WHERE TraceId IN {traceIds:Array(String)}`,
    { traceIds },
  );
  return row === undefined || row.traces < traceIds.length
    ? null
    : { from: BigInt(row.from) * SECOND, to: (BigInt(row.to) + 1n) * SECOND };
}

function union(bounds: readonly TimeBounds[]): TimeBounds {
  return bounds.reduce((all, each) => ({
    from: each.from < all.from ? each.from : all.from,
    to: each.to > all.to ? each.to : all.to,
  }));
}
