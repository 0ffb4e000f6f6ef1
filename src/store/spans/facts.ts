import {
  AGENT_KEYS,
  AGENT_VERSION_KEY,
  ENVIRONMENT_KEYS,
  MODEL_KEYS,
  SESSION_KEYS,
  TOOL_MARKS,
  USER_KEYS,
} from '../../conventions/fact-keys.ts';
import type { AgentVersion } from '../../domain/deploy-marker.ts';
import { readErrorHalt } from '../../domain/trace/halt.ts';
import { OWN_SCOPE } from '../../domain/trace/span.ts';
import { joinTraceKey, type TraceFacts, type TraceKey } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import type { QueryParams } from '../values.ts';
import { ownTables, type SpanTables } from './span-tables.ts';
import { IN_KEYS, keyParams, splitIntoSlices } from './trace-keys.ts';

/** Maximum number of distinct values returned for one attribute, service, environment or agent of a trace. */
const MOST_VALUES = 100;

/** Returns an SQL condition that is true for the span of a tool. `value` returns SQL for the value of an attribute key. */
export const isToolSql = (value: (key: string) => string): string =>
  [
    ...TOOL_MARKS.map(([key, mark]) => `lower(replaceAll(${value(key)}, '"', '')) = '${mark}'`),
    `${value('gen_ai.tool.name')} != ''`,
  ].join(' OR ');

const ENVIRONMENTS = [...ENVIRONMENT_KEYS, 'langfuse.environment'].map((key) => `Facts['${key}']`).join(', ');

const MODEL_NAMES = MODEL_KEYS.map((key) => `trim(BOTH '"' FROM Facts['${key}'])`).join(', ');

/** Texts that emitters write for an id that is missing. */
const NO_IDS = `('', 'null', 'None', 'undefined')`;

/** Returns SQL for the value of the first key that has one. Some emitters write the id of a response as that of a session. */
function firstIdSql(keys: readonly string[]): string {
  const values = keys.map((key) => `trim(BOTH '"' FROM Facts['${key}'])`).join(', ');
  return `arrayFirst(id -> id NOT IN ${NO_IDS} AND NOT startsWith(id, 'resp_'), [${values}])`;
}

const uniqueIdsSql = (keys: readonly string[]): string =>
  `arraySort(groupUniqArrayIf(${MOST_VALUES})(${firstIdSql(keys)}, ${firstIdSql(keys)} != ''))`;

/** Keys of which a span of an agent, a model or a tool has at least one. */
const AGENT_SPAN_KEYS = [
  ...new Set([
    ...AGENT_KEYS,
    ...TOOL_MARKS.map(([key]) => key),
    'gen_ai.tool.name',
    ...MODEL_KEYS,
    AGENT_VERSION_KEY,
  ]),
];

/** Version of a span: service, agent, version of the service, version of the agent. */
const VERSION = `(toString(ServiceName), arrayFirst(name -> name != '', [${AGENT_KEYS.map((key) => `Facts['${key}']`).join(', ')}]),
    Facts['service.version'], Facts['${AGENT_VERSION_KEY}'])`;

const HAS_VERSION = `(Facts['service.version'] != '' OR Facts['${AGENT_VERSION_KEY}'] != '')
    AND (${AGENT_SPAN_KEYS.map((key) => `Facts['${key}'] != ''`).join(' OR ')})`;

const FACT_COLUMNS = `
  Tenant AS tenant,
  TraceId AS traceId,
  groupUniqArrayIf(${MOST_VALUES})(ServiceName, ServiceName != '') AS services,
  groupUniqArrayArray(${MOST_VALUES})(arrayFilter(name -> name != '', [${ENVIRONMENTS}])) AS environments,
  groupUniqArrayArray(${MOST_VALUES})(arrayFilter(name -> name != '', [${AGENT_KEYS.map((key) => `Facts['${key}']`).join(', ')}])) AS agents,
  ${uniqueIdsSql(SESSION_KEYS)} AS sessions,
  ${uniqueIdsSql(USER_KEYS)} AS users,
  ${uniqueIdsSql(MODEL_KEYS)} AS models,
  arraySort(groupUniqArrayArray(${MOST_VALUES})(arrayFilter(name -> name NOT IN ${NO_IDS}, [${MODEL_NAMES}]))) AS modelNames,
  ${uniqueIdsSql(['service.version'])} AS serviceVersions,
  arraySort(groupUniqArrayIf(${MOST_VALUES})(${VERSION}, ${HAS_VERSION})) AS versions,
  toBool(max(StatusCode = 'Error')) AS hasError,
  toBool(max(StatusCode = 'Error' AND (${isToolSql((key) => `Facts['${key}']`)}))) AS hasToolError,
  toBool(max(arrayExists((key, value) -> position(key, 'feedback') > 0 AND toFloat64OrZero(value) < 0,
    mapKeys(Facts), mapValues(Facts)))) AS hasNegativeFeedback`;

/** Facts as they are stored. */
type FactsRow = Omit<TraceFacts, 'versions' | 'attributes'> & {
  readonly versions: [service: string, agent: string, serviceVersion: string, agentVersion: string][];
  readonly asked?: [string, string][];
};

export interface FactsOptions {
  readonly tables?: SpanTables;
  /** False: negative feedback in events, log records and scores is not looked up. Default true. */
  readonly feedback?: boolean;
}

/** Reads the facts that filters need. Takes any number of traces; the result lacks traces without spans. */
export async function readFacts(
  database: Database,
  keys: readonly TraceKey[],
  attributeKeys: readonly string[],
  { tables = ownTables(database), feedback = true }: FactsOptions = {},
): Promise<Map<string, TraceFacts>> {
  const found = new Map<string, TraceFacts>();
  for (const slice of splitIntoSlices(keys)) {
    const { from, asked, params } = await tables.facts(slice, attributeKeys);
    const rows = await database.rows<FactsRow>(
      `SELECT ${FACT_COLUMNS}${attributeKeys.length === 0 ? '' : `, groupUniqArrayArray(${asked}) AS asked`}
       FROM ${from}
       WHERE ${IN_KEYS} AND ${tables.within} AND ScopeName != {own:String}
       GROUP BY Tenant, TraceId`,
      { ...params, own: OWN_SCOPE },
    );
    const disliked = feedback
      ? await readDisliked(database, tables, { ...params, ...keyParams(slice), own: OWN_SCOPE })
      : new Set<string>();
    const failed = rows.filter((row) => row.hasError);
    const halted = await readHalted(database, tables, failed, { ...params, own: OWN_SCOPE });
    for (const row of rows) {
      const failures = halted.get(joinTraceKey(row)) ?? row;
      const facts = toFacts({ ...row, ...failures }, attributeKeys, disliked);
      found.set(joinTraceKey(facts), facts);
    }
  }
  return found;
}

/** Most distinct errors of a trace that are looked at; a trace with more has failed. */
const MOST_ERRORS = 100;

/** Characters of a message that are looked at. */
const MESSAGE_CHARS = 2_000;

/** Returns SQL for the texts of an error span: '1' for a tool, type and message of its last exception, its own type and message. */
function errorTextsSql({ attribute }: SpanTables): string {
  const ofSpan = (key: string) => attribute('SpanAttributes', key);
  const ofException = (key: string) =>
    attribute("`Events.Attributes`[arrayLastIndex(name -> name = 'exception', `Events.Name`)]", key);
  const message = (text: string) => `leftUTF8(${text}, ${MESSAGE_CHARS})`;
  return `[if(${isToolSql(ofSpan)}, '1', ''), ${ofException('exception.type')}, ${message(ofException('exception.message'))},
    ${ofSpan('error.type')}, ${message('StatusMessage')}]`;
}

type Failures = Pick<FactsRow, 'hasError' | 'hasToolError'>;

/** Reads which of the traces with an error have failed: a span that was interrupted or cancelled has not. */
export async function readHalted(
  database: Database,
  tables: SpanTables,
  failed: readonly TraceKey[],
  params: QueryParams,
): Promise<Map<string, Failures>> {
  if (failed.length === 0) {
    return new Map();
  }
  const rows = await database.rows<TraceKey & { errors: string[][] }>(
    `SELECT Tenant AS tenant, TraceId AS traceId, groupUniqArray(${MOST_ERRORS + 1})(${errorTextsSql(tables)}) AS errors
     FROM ${tables.spans}
     WHERE ${IN_KEYS} AND ${tables.within} AND ScopeName != {own:String} AND StatusCode = 'Error'
     GROUP BY Tenant, TraceId`,
    { ...params, ...keyParams(failed) },
  );
  return new Map(
    rows.flatMap(({ errors, ...key }) =>
      errors.length > MOST_ERRORS ? [] : [[joinTraceKey(key), listFailures(errors)] as const],
    ),
  );
}

function listFailures(errors: readonly string[][]): Failures {
  const failures = errors.filter(([, type, message, ownType, status]) => {
    const error = { type: type || ownType || null, message: message || status || null };
    return readErrorHalt(error, ownType) === undefined;
  });
  return {
    hasError: failures.length > 0,
    hasToolError: failures.some(([isTool]) => isTool === '1'),
  };
}

/** Event by which OpenTelemetry tells a score, and its attributes. */
const EVALUATION = {
  event: 'gen_ai.evaluation.result',
  name: 'gen_ai.evaluation.name',
  value: 'gen_ai.evaluation.score.value',
};

/** Returns an SQL condition on the name and the attributes of an event: a feedback below zero. */
const dislikesSql = (name: string, attributes: string): string => `arrayExists((key, value) ->
    toFloat64OrZero(value) < 0 AND (position(${name}, 'feedback') > 0 OR position(key, 'feedback') > 0
      OR (key = '${EVALUATION.value}' AND position(${attributes}['${EVALUATION.name}'], 'feedback') > 0)),
    mapKeys(${attributes}), mapValues(${attributes}))`;

const DISLIKING_EVENTS = `SELECT Tenant AS tenant, TraceId AS traceId FROM otel_traces
  WHERE ${IN_KEYS} AND {within} AND ScopeName != {own:String}
    AND arrayExists(name -> position(name, 'feedback') > 0 OR name = '${EVALUATION.event}', \`Events.Name\`)
    AND arrayExists((name, attributes) -> ${dislikesSql('name', 'attributes')}, \`Events.Name\`, \`Events.Attributes\`)
  UNION ALL
  SELECT Tenant AS tenant, TraceId AS traceId FROM otel_logs
  WHERE ${IN_KEYS} AND {within} AND ScopeName != {own:String} AND ${dislikesSql('EventName', 'LogAttributes')}
  UNION ALL`;

/** Reads which traces have feedback below zero in an event or a log record, or a score below zero from outside. */
async function readDisliked(
  database: Database,
  { within, hasFeedbackEvents }: SpanTables,
  params: QueryParams,
): Promise<Set<string>> {
  const rows = await database.rows<TraceKey>(
    `SELECT DISTINCT tenant, traceId FROM (
       ${hasFeedbackEvents ? DISLIKING_EVENTS.replaceAll('{within}', within) : ''}
       SELECT Tenant AS tenant, TraceId AS traceId FROM scores FINAL
       PREWHERE ${IN_KEYS} WHERE Source IN ('human', 'api') AND Score < 0)`,
    params,
  );
  return new Set(rows.map(joinTraceKey));
}

function toFacts(
  { versions, asked = [], ...row }: FactsRow,
  attributeKeys: readonly string[],
  disliked: Set<string>,
): TraceFacts {
  const attributes = new Map<string, string[]>(attributeKeys.map((key) => [key, []]));
  for (const [key, value] of asked) {
    const values = attributes.get(key);
    if (values !== undefined && values.length < MOST_VALUES) {
      values.push(value);
    }
  }
  return {
    ...row,
    versions: listVersions(versions),
    hasNegativeFeedback: row.hasNegativeFeedback || disliked.has(joinTraceKey(row)),
    attributes,
  };
}

/** Lists the versions of a trace. Spans without an agent's name count only in a service whose spans name none. */
function listVersions(rows: FactsRow['versions']): AgentVersion[] {
  const versions = rows.map(([service, agent, serviceVersion, agentVersion]) => ({
    service,
    agent,
    serviceVersion,
    agentVersion,
  }));
  const named = new Set(versions.flatMap(({ service, agent }) => (agent === '' ? [] : [service])));
  return versions.filter(({ service, agent }) => agent !== '' || !named.has(service));
}
