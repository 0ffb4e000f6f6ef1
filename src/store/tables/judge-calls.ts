import type { BudgetScope } from '../../domain/money/budget.ts';
import type {
  CallSize,
  CallSizeQuery,
  JudgeUse,
  SpendEntry,
  Spending,
  SpendingPart,
  SpendingRange,
  TraceKey,
} from '../contracts/stores.ts';
import type { RunSumsQuery } from '../contracts/sums.ts';
import { bind, type Database } from '../database.ts';
import { callsWithin, paramsOf, runsOfCalls } from '../sums/run-sums.ts';
import { judgeCallRows, spendRows } from '../table-rows.ts';

/** Creates the store of judge calls for audit, and of the money of budgets. */
export function createJudgeCallStore(database: Database) {
  return {
    ...bind(database, { write: judgeCallRows.write, readSpending, listSpending }),
    /** Appends entries. An entry that was written before is ignored, also in another order or with others. */
    spend: (entries: readonly SpendEntry[]) => spendRows.write(database, entries),
  };
}

export type JudgeCallStore = ReturnType<typeof createJudgeCallStore>;

/** Conditions for the rows of a budget. */
const OF_BUDGET: Readonly<Record<BudgetScope['kind'], string>> = {
  rule: "Rule = {name:String} AND Scope = ''",
  tenant: "Tenant = {name:String} AND (Kind != 'lease' OR Scope = 'tenant')",
  total: "(Kind != 'lease' OR Scope = 'total')",
};

/** Reads the money of a budget in a range of time. A repeated entry counts once: an insert may happen after its client stopped waiting and repeated it. */
async function readSpending(
  database: Database,
  { kind, name }: BudgetScope,
  { fromMs, toMs, openSinceMs }: SpendingRange,
): Promise<Spending> {
  const [row] = await database.rows<Spending>(
    `SELECT sum(Cost) AS bookedUsd,
       sumIf(Leased, LastAt >= fromUnixTimestamp64Milli({openSince:Int64})) AS reservedUsd
     FROM (
       SELECT LeaseId, sum(CostUsd) AS Cost, sumIf(CostUsd, Kind = 'lease') AS Leased, max(SpentAt) AS LastAt
       FROM (
         SELECT DISTINCT Kind, LeaseId, CallId, ScoreId, SpentAt, CostUsd FROM spend
         WHERE ${OF_BUDGET[kind]} AND SpentAt >= fromUnixTimestamp64Milli({from:Int64})
           AND SpentAt < fromUnixTimestamp64Milli({to:Int64})
       )
       GROUP BY LeaseId
     )`,
    { name, from: Math.trunc(fromMs), to: Math.trunc(toMs), openSince: Math.trunc(openSinceMs) },
  );
  return row ?? { bookedUsd: 0, reservedUsd: 0 };
}

/** Reads the spending of all budgets; repeated entries count as above. */
function listSpending(
  database: Database,
  { fromMs, toMs, openSinceMs }: SpendingRange,
): Promise<SpendingPart[]> {
  return database.rows(
    `SELECT Rule AS rule, Tenant AS tenant, Scope AS scope, IsLease AS isLease, sum(Cost) AS bookedUsd,
       sumIf(Cost, IsLease AND LastAt >= fromUnixTimestamp64Milli({openSince:Int64})) AS reservedUsd
     FROM (
       SELECT Rule, Tenant, Scope, toBool(Kind = 'lease') AS IsLease, sum(CostUsd) AS Cost,
         max(max(SpentAt)) OVER (PARTITION BY LeaseId) AS LastAt
       FROM (
         SELECT DISTINCT Kind, Scope, Rule, Tenant, LeaseId, CallId, ScoreId, SpentAt, CostUsd FROM spend
         WHERE SpentAt >= fromUnixTimestamp64Milli({from:Int64}) AND SpentAt < fromUnixTimestamp64Milli({to:Int64})
       )
       GROUP BY Rule, Tenant, Scope, IsLease, LeaseId
     )
     GROUP BY Rule, Tenant, Scope, IsLease`,
    { from: Math.trunc(fromMs), to: Math.trunc(toMs), openSince: Math.trunc(openSinceMs) },
  );
}

/** Most calls of one score that are read. */
const MAX_CALLS = 200;

/** Longest reason of a failure, in characters. */
const MAX_REASON = 80;

export function createJudgeUseStore(database: Database) {
  return {
    /** Reads the calls for some scores of one trace, the oldest first. */
    callsOf: ({ tenant, traceId }: TraceKey, scoreIds: readonly string[]) =>
      judgeCallRows.read(
        database,
        `FROM judge_calls
         WHERE Tenant = {tenant:String} AND TraceId = {traceId:String} AND ScoreId IN {scoreIds:Array(String)}
         ORDER BY CalledAt, Step LIMIT ${MAX_CALLS}`,
        { tenant, traceId, scoreIds },
      ),
    ...bind(database, { sizes: readSizes }),
    /** Reads the use of each judge in a range, as a whole and by hours, the oldest hour first. */
    list: async (query: RunSumsQuery): Promise<readonly JudgeUse[]> => {
      const { agent, environment } = query;
      const ofRuns =
        agent === undefined && environment === undefined
          ? ''
          : `AND (Tenant, TraceId) IN (SELECT Tenant, TraceId FROM ${runsOfCalls(query)})`;
      const rows = await database.rows<JudgeUse>(
        `SELECT Model AS judge, if(grouping(Hour) = 1, NULL, toUnixTimestamp(Hour) * 1000) AS hourMs, count() AS calls,
           countIf(Status != 'success') AS failed, sum(ifNull(InputTokens, 0)) AS inputTokens,
           sum(ifNull(OutputTokens, 0)) AS outputTokens, sum(ifNull(CostUsd, 0)) AS costUsd,
           quantile(0.5)(DurationMs) AS latencyP50Ms, quantile(0.95)(DurationMs) AS latencyP95Ms,
           arraySort(groupUniqArray(100)(Scorer)) AS scorers, sumMap(map(Reason, toUInt64(Reason != ''))) AS failures
         FROM (
           SELECT *, toStartOfHour(CalledAt) AS Hour,
             if(Status != 'success', substringUTF8(splitByString(': ', Error)[1], 1, ${MAX_REASON}), '') AS Reason
           FROM ${callsWithin(query)} ${ofRuns})
         GROUP BY GROUPING SETS ((judge), (judge, Hour))
         ORDER BY judge, grouping(Hour) DESC, Hour`,
        paramsOf(query),
      );
      return rows.map(({ failures, ...use }) => {
        const { '': _, ...byReason } = failures;
        return { ...use, failures: byReason };
      });
    },
  };
}

export type JudgeUseStore = ReturnType<typeof createJudgeUseStore>;

/** Columns of a call without its texts. */
const SIZE_COLUMNS = judgeCallRows.select(
  'tenant traceId scoreId scorer step model inputTokens outputTokens costUsd durationMs calledAtMs'.split(
    ' ',
  ),
);

/** Reads the sizes of answered calls whose tokens are known, for each scorer, judge and score the oldest first. */
function readSizes(
  database: Database,
  { tenant, scorers, repeatMark, limit }: CallSizeQuery,
): Promise<readonly CallSize[]> {
  const sized = `Scorer IN {scorers:Array(String)} AND Status != 'failed' AND InputTokens IS NOT NULL
    AND OutputTokens IS NOT NULL ${tenant === undefined ? '' : 'AND Tenant = {tenant:String}'}`;
  // The newest calls are found without their prompts, which are most of the table.
  return database.rows(
    `SELECT ${SIZE_COLUMNS}, length(Prompt) AS promptBytes, toBool(position(Prompt, {repeatMark:String}) > 0) AS isRepeat
     FROM judge_calls
     WHERE ${sized} AND (Tenant, TraceId, CalledAt) IN (
       SELECT Tenant, TraceId, CalledAt FROM judge_calls WHERE ${sized}
       ORDER BY WrittenAt DESC LIMIT {limit:UInt32} BY Scorer, Model)
     ORDER BY Scorer, Model, ScoreId, CalledAt`,
    { scorers, repeatMark, limit, tenant: tenant ?? '' },
  );
}
