import { FACT_KEYS } from '../../conventions/fact-keys.ts';
import type { TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import type { QueryParams } from '../query-params.ts';
import { ASKED_OF_MAPS, type FactRows, type SpanTables, valueOfMap } from '../spans/span-tables.ts';
import { keyParams } from '../spans/trace-keys.ts';
import { attributeColumn, valueOfJsonText } from './attribute-columns.ts';
import type { ForeignSchema, ForeignTable } from './foreign-schema.ts';
import { COUNTS, logRows, formatSettings, spanRows, STATUS, WANTED_TRACES } from './foreign-rows.ts';
import { buildWindow, listBounds, readBounds, type Remembered, type TimeBounds } from './trace-bounds.ts';

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
