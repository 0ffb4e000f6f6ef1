import type { ListFilters } from '../contracts/lists.ts';
import { IS_AGENT } from '../sums/run-sums.ts';
import type { QueryParams } from '../values.ts';

/** Conditions of a statement with their parameters. */
export interface Conditions {
  /** Joined by AND; `1` without conditions. */
  readonly sql: string;
  readonly params: QueryParams;
}

type Known = Readonly<Partial<Record<keyof ListFilters, string>>>;

/** Conditions on columns that scores and runs share. */
const OF_FACETS: Known = {
  tenant: 'Tenant = {tenant:String}',
  service: 'ServiceName IN {service:Array(String)}',
  agent: IS_AGENT,
  environment: 'Environment IN {environment:Array(String)}',
  serviceVersion: 'ServiceVersion IN {serviceVersion:Array(String)}',
  sessionId: 'SessionId IN {sessionId:Array(String)}',
  userId: 'UserId IN {userId:Array(String)}',
  traceId: 'TraceId IN {traceId:Array(String)}',
};

/** Conditions on the values of scores. */
export const OF_VALUES: Known = {
  scorer: 'Scorer IN {scorer:Array(String)}',
  source: 'Source IN {source:Array(String)}',
  min: 'Score >= {min:Float64}',
  max: 'Score <= {max:Float64}',
};

/** Conditions on scores. */
export const OF_SCORES: Known = { ...OF_FACETS, ...OF_VALUES, model: 'Model IN {model:Array(String)}' };

/** Condition that the question or the answer of a run holds `q`. An index of `run_starts` serves it. */
const HOLDS_TEXT = String.raw`lowerUTF8(concat(Question, '\n', Answer)) LIKE concat('%', replaceRegexpAll(lowerUTF8({q:String}), '[\\\\%_]', '\\\\\\0'), '%')`;

const OF_TOOLS: Known = {
  ...OF_FACETS,
  model: 'hasAny(Models, {model:Array(String)})',
  agentVersion: 'AgentVersion IN {agentVersion:Array(String)}',
  tool: 'hasAny(Tools, {tool:Array(String)})',
  toolError: 'ToolErrors > 0',
};

/** Conditions on runs. */
export const OF_RUNS: Known = {
  ...OF_TOOLS,
  q: `({q:String} IN (UserId, SessionId) OR TraceId = lower({q:String}) OR ${HOLDS_TEXT})`,
};

/** Conditions on runs, of which `q` asks for texts alone. */
export const OF_TEXTS: Known = { ...OF_TOOLS, q: HOLDS_TEXT };

/** Returns the conditions on all runs of a range. Texts and ids are looked for apart, each by its index, and found runs by their key. */
export function ofRange({ sinceMs, untilMs }: ListFilters): Known {
  const key = 'StartedAt, TraceId, Tenant';
  const { sql: within } = buildConditions({ sinceMs, untilMs }, ofTimes('StartedAt'));
  const ofId = (is: string) => `
    UNION ALL SELECT ${key} FROM runs WHERE Target = 'trace' AND TargetId = TraceId AND ${is}`;
  const ids = ['UserId = {q:String}', 'SessionId = {q:String}', 'TraceId = lower({q:String})']
    .map(ofId)
    .join('');
  return {
    ...OF_TOOLS,
    q: `(${key}) IN (SELECT ${key} FROM run_starts WHERE ${within} AND ${HOLDS_TEXT} ${ids})`,
  };
}

/** Conditions on decisions. */
export const OF_DECISIONS: Known = {
  rule: 'Rule IN {rule:Array(String)}',
  status: 'Status IN {status:Array(String)}',
  reason: "splitByString(': ', Reason)[1] IN {reason:Array(String)}",
};

export function ofTimes(column: string): Known {
  return {
    sinceMs: `${column} >= fromUnixTimestamp64Milli({sinceMs:Int64})`,
    untilMs: `${column} < fromUnixTimestamp64Milli({untilMs:Int64})`,
  };
}

/** Builds the asked conditions among the known ones. */
export function buildConditions(filters: ListFilters, ...known: readonly Known[]): Conditions {
  const asked = Object.entries(Object.assign({}, ...known) as Known).flatMap(([name, sql]) => {
    const value = filters[name as keyof ListFilters];
    return value === undefined
      ? []
      : [{ name, sql, value: typeof value === 'number' ? trim(name, value) : value }];
  });
  return {
    sql: asked.length === 0 ? '1' : asked.map(({ sql }) => sql).join(' AND '),
    params: Object.fromEntries(asked.map(({ name, value }) => [name, value])),
  };
}

/** The store takes times as whole milliseconds. */
function trim(name: string, value: number): number {
  return name === 'sinceMs' || name === 'untilMs' ? Math.trunc(value) : value;
}

/** Returns true when the filters ask for decisions. */
export function asksDecisions({ rule, status, reason }: ListFilters): boolean {
  return [rule, status, reason].some((asked) => asked !== undefined);
}

/**
 * Builds the condition that one of the current decisions on a trace is as asked.
 * @param inKeys condition on the traces
 */
export function buildDecided(filters: ListFilters, inKeys: string): Conditions {
  if (!asksDecisions(filters)) {
    return { sql: '1', params: {} };
  }
  const { sql, params } = buildConditions(filters, OF_DECISIONS);
  return {
    sql: `(Tenant, TraceId) IN (SELECT Tenant, TraceId FROM decisions FINAL WHERE ${inKeys} AND ${sql})`,
    params,
  };
}

/** Tables have no rows earlier than 1970. */
export function startOf(ms: number): number {
  return Math.max(0, Math.trunc(ms));
}
