import { runCommand, type ClickHouseAddress } from '../support/store/clickhouse-query.ts';

/** Size of the history that is made. */
export interface History {
  readonly traces: number;
  /** Scores of each trace. */
  readonly scorers: number;
  readonly days: number;
  /** End of the days, Unix milliseconds. */
  readonly endMs: number;
}

/** Traces of one statement. */
const TRACES_AT_ONCE = 100_000;

/** Share of the traces that the sample of the rule leaves out, and of scores that failed: one of so many. */
const SAMPLED_OUT_OF = 5;
const FAILED_OF = 50;

/** Traces with a label of a person on a quality without a scorer: one of so many; and on the second scorer. */
const LABELLED_OF = 2_000;
const CHECKED_OF = 130;

/**
 * Makes a part of a history by SQL: a run, decisions and scores of each trace, evenly over its days. Ids are hashes, so that they are as
 * scattered as real ones. `from` is the number of traces that the history has.
 */
export async function makeTraces(
  address: ClickHouseAddress,
  history: History,
  { from: first, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  for (let from = first; from < to; from += TRACES_AT_ONCE) {
    const source = traceRows(history, from, Math.min(TRACES_AT_ONCE, to - from));
    for (const statement of [
      insertRuns(source),
      insertScores(source, history),
      insertDecisions(source, history),
    ]) {
      await runCommand(address, statement);
    }
  }
}

function traceRows({ traces, days, endMs }: History, from: number, count: number): string {
  return `
  SELECT number AS at, lower(hex(MD5(concat('trace ', toString(number))))) AS TraceId,
    fromUnixTimestamp64Milli(toInt64(${endMs} - intDiv(${days} * 86400000 * (${traces} - number), ${traces}))) AS StartedAt,
    concat('agent-', toString(at % 4)) AS Agent, concat('service-', toString(at % 4)) AS ServiceName,
    if(at % 10 = 0, 'staging', 'production') AS Environment, concat('model-', toString(at % 3)) AS Model,
    concat('v', toString(intDiv(at * 12, ${traces}))) AS ServiceVersion, concat('session-', toString(intDiv(at, 4))) AS SessionId,
    concat('user-', toString(at % 50000)) AS UserId
  FROM numbers(${from}, ${count})`;
}

function insertRuns(source: string): string {
  return `
  INSERT INTO runs (Tenant, TraceId, SpanId, Target, TargetId, SessionId, UserId, ServiceName, ServiceVersion, Agent, Environment,
    Models, InputTokens, OutputTokens, TotalTokens, CostUsd, StartedAt, DurationMs, Status, ReadFrom, Completeness, EvidenceUntil, WrittenAt, Version, AgentVersion, Tools, ToolErrors, Question,
    Answer)
  SELECT '', TraceId, substring(TraceId, 1, 16), 'trace', TraceId, SessionId, UserId, ServiceName, ServiceVersion, Agent, Environment,
    [Model], 100, 20, 120, 0.001, StartedAt, at % 9000, if(at % 30 = 0, 'error', 'ok'), 'content', 'complete', StartedAt, StartedAt,
    toUnixTimestamp64Milli(StartedAt), ServiceVersion, [concat('tool-', toString(at % 5))], at % 25 = 0,
    concat('Where is order ', toString(at), ' of the ', ${WORDS}, ' kind?'),
    concat('Order ', toString(at), ' left the ', ${WORDS}, ' store. It comes with ', ${WORDS}, ', and it weighs ', ${WORDS}, '.')
  FROM (${source})`;
}

/** SQL for four words of 5,000 that change with the trace. */
const WORDS = `arrayStringConcat(arrayMap(n -> hex(sipHash64(cityHash64(at, n) % 5000)), range(4)), ' ')`;

const SCORE_COLUMNS = `ScoreId, Tenant, TraceId, SpanId, Target, TargetId, SessionId, Scorer, ScorerVersion, Fingerprint, Score, Label,
  HigherIsBetter, ScoreMin, ScoreMax, Reason, ServiceName, ServiceVersion, Agent, Environment, Model, UserId, TraceTimestamp, ScoredAt,
  JudgeCalls, DurationMs, Redactions, Stratum, InclusionProbability, Weight, Revision, Completeness, Source, EvidenceHash,
  EvidenceUntil, Day, WrittenAt, IsDeleted`;

function insertScores(source: string, { scorers }: History): string {
  const hash = 'cityHash64(TraceId, number)';
  const isHuman = `number >= ${scorers}`;
  const label = `SELECT *, arrayJoin(arrayConcat(if(at % ${LABELLED_OF} = 0, [${scorers}], []),
    if(at % ${CHECKED_OF} = 0, [${scorers + 1}], []))) AS number FROM (${source}) WHERE at % ${LABELLED_OF} = 0 OR at % ${CHECKED_OF} = 0`;
  const pairs = `SELECT *, arrayJoin(range(${scorers})) AS number FROM (${source})`;
  return `
  INSERT INTO scores (${SCORE_COLUMNS})
  SELECT reinterpretAsUUID(MD5(concat(TraceId, toString(number)))), '', TraceId, substring(TraceId, 1, 16), 'trace', TraceId,
    SessionId, multiIf(number = ${scorers}, 'correctness', number > ${scorers}, 'scorer-1', concat('scorer-', toString(number))), '1', concat('f', toString(number)),
    if(number % 2 = 0, ${hash} % 2, (${hash} % 1000) / 1000), '', if(${isHuman}, NULL, number % 3 != 0),
    if(${isHuman}, NULL, 0), if(${isHuman}, NULL, 1), 'Three of four claims are backed by the results of the tools.',
    ServiceName, ServiceVersion, Agent, Environment, Model, UserId, StartedAt, StartedAt, 1, 200, 0, 'uniform', 1, 1, 1, 'complete',
    if(${isHuman}, 'human', 'live'), TraceId, StartedAt, toDate(StartedAt), StartedAt, 0
  FROM (${pairs} UNION ALL ${label})`;
}

/** A decision of each scorer; one on the whole rule for a trace that the sample leaves out. */
function insertDecisions(source: string, { scorers }: History): string {
  const pairs = `SELECT *, arrayJoin(if(at % ${SAMPLED_OUT_OF} = 0, [${scorers}], range(${scorers}))) AS number FROM (${source})`;
  return `
  INSERT INTO decisions (Tenant, TraceId, Target, TargetId, Rule, Scorer, Fingerprint, Status, Reason, Attempts,
    InclusionProbability, Weight, Stratum, Revision, EvidenceUntil, EvidenceHash, DecidedAt, WrittenAt, Version, Agent, Environment)
  SELECT '', TraceId, 'trace', TraceId, 'production', if(number = ${scorers}, '*', concat('scorer-', toString(number))), '',
    multiIf(number = ${scorers}, 'sampled_out', at % ${FAILED_OF} = 1, 'failed', 'scored'),
    multiIf(number = ${scorers}, 'sampled_out', at % ${FAILED_OF} = 1, 'timeout: 30 s', ''), 1, 0.8,
    if(number = ${scorers}, NULL, 1.25), 'uniform', 1, StartedAt, TraceId, StartedAt, StartedAt,
    toUnixTimestamp64Milli(StartedAt) * 1024, Agent, Environment
  FROM (${pairs})`;
}

/** Makes failures of runs by SQL: of each agent, so many issues, of which the first has the most. */
export async function makeFailures(
  address: ClickHouseAddress,
  { issues, failingOf }: { readonly issues: number; readonly failingOf: number },
): Promise<void> {
  await runCommand(
    address,
    `INSERT INTO failures (Tenant, IssueId, SignatureId, FailureId, TraceId, TargetId, Agent, AgentVersion, UserId, SessionId, Kind, Subject, Text,
       Day, TraceTimestamp, Weight, InclusionProbability, Stratum, Revision, EvidenceUntil)
     SELECT '', id, id, id, TraceId, TargetId, Agent, AgentVersion, UserId, SessionId, 'tool-error',
       concat('{"tool":"tool-', toString(issue), '","errorType":"E', toString(issue), '","text":""}'), 'it failed', toDate(StartedAt), StartedAt,
       1, 1, 'uniform', 1, EvidenceUntil
     FROM (
       SELECT *, toUInt32(floor(${issues} * pow(cityHash64(TraceId, 'issue') / 18446744073709551616., 2))) AS issue,
         lower(leftPad(hex(cityHash64(Agent, issue)), 16, '0')) AS id
       FROM runs WHERE cityHash64(TraceId) % ${failingOf} = 0)`,
  );
}
