import type { BudgetScope } from '../../domain/money/budget.ts';
import type { CallSize, CallSizeQuery, JudgeUse, JudgeUseStore } from '../contracts/judge-use.ts';
import type {
  JudgeCallRecord,
  JudgeCallStore,
  Spending,
  SpendingPart,
  SpendingRange,
} from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { fromInteger, toDateTime } from '../values.ts';

/** Creates the store of judge calls for audit, and of the money of budgets. */
export function createJudgeCallStore(database: Database): JudgeCallStore {
  return {
    write: (calls) => database.insertRows('judge_calls', calls.map(toRow)),
    readSpending: (scope, range) => readSpending(database, scope, range),
    listSpending: (range) => listSpending(database, range),
    spend: (entries) =>
      database.insertRows(
        'spend',
        entries.map((entry) => ({
          Kind: entry.kind,
          Scope: entry.scope,
          Rule: entry.rule,
          SpentAt: toDateTime(entry.atMs),
          Tenant: entry.tenant,
          ScoreId: entry.scoreId,
          LeaseId: entry.leaseId,
          CallId: entry.entryId,
          CostUsd: entry.costUsd,
        })),
      ),
  };
}

/** Conditions for the rows of a budget. Only a rule's budget has rows of versions without scopes. */
const OF_BUDGET: Readonly<Record<BudgetScope['kind'], string>> = {
  rule: "Rule = {name:String} AND Scope = ''",
  tenant: "Tenant = {name:String} AND (Kind != 'lease' OR Scope = 'tenant')",
  total: "(Kind != 'lease' OR Scope = 'total')",
};

/**
 * Reads spending. A repeated entry counts once: an insert may happen after its client stopped waiting and repeated it. Entries of
 * earlier versions have no kind; their reservations count as spent.
 */
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
async function listSpending(
  database: Database,
  { fromMs, toMs, openSinceMs }: SpendingRange,
): Promise<SpendingPart[]> {
  const rows = await database.rows<Omit<SpendingPart, 'isLease'> & { isLease: 0 | 1 }>(
    `SELECT Rule AS rule, Tenant AS tenant, Scope AS scope, IsLease AS isLease, sum(Cost) AS bookedUsd,
       sumIf(Cost, IsLease AND LastAt >= fromUnixTimestamp64Milli({openSince:Int64})) AS reservedUsd
     FROM (
       SELECT Rule, Tenant, Scope, Kind = 'lease' AS IsLease, sum(CostUsd) AS Cost,
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
  return rows.map((row) => ({ ...row, isLease: row.isLease === 1 }));
}

function toRow(call: JudgeCallRecord): object {
  return {
    Tenant: call.tenant,
    TraceId: call.traceId,
    ScoreId: call.scoreId,
    Scorer: call.scorer,
    Step: call.step,
    Model: call.model,
    Status: call.status,
    Prompt: call.prompt,
    Reply: call.reply,
    Error: call.error,
    InputTokens: call.inputTokens,
    OutputTokens: call.outputTokens,
    CostUsd: call.costUsd,
    DurationMs: call.durationMs,
    CalledAt: toDateTime(call.calledAtMs),
  };
}

/** Most calls of one score that are read. */
const MAX_CALLS = 200;

/** Longest reason of a failure, in characters. */
const MAX_REASON = 80;

/** Creates the store of what judges did. */
export function createJudgeUseStore(database: Database): JudgeUseStore {
  return {
    callsOf: async (key, scoreIds) => {
      const rows = await database.rows<CallRow>(
        `SELECT Tenant AS tenant, TraceId AS traceId, ScoreId AS scoreId, Scorer AS scorer, Step AS step, Model AS model,
           Status AS status, Prompt AS prompt, Reply AS reply, Error AS error, InputTokens AS inputTokens,
           OutputTokens AS outputTokens, CostUsd AS costUsd, DurationMs AS durationMs,
           toUnixTimestamp64Milli(CalledAt) AS calledAtMs
         FROM judge_calls
         WHERE Tenant = {tenant:String} AND TraceId = {traceId:String} AND ScoreId IN {scoreIds:Array(String)}
         ORDER BY CalledAt, Step LIMIT ${MAX_CALLS}`,
        { tenant: key.tenant, traceId: key.traceId, scoreIds },
      );
      return rows.map((row) => ({
        ...row,
        inputTokens: fromInteger(row.inputTokens),
        outputTokens: fromInteger(row.outputTokens),
        calledAtMs: Number(row.calledAtMs),
      }));
    },
    sizes: (query) => readSizes(database, query),
    since: async ({ tenant, sinceMs }) => {
      const rows = await database.rows<UseRow>(
        `SELECT Model AS judge, toUInt8(grouping(Hour)) AS isTotal, toUnixTimestamp(Hour) AS hour, count() AS calls,
           countIf(Status != 'success') AS failed, sum(ifNull(InputTokens, 0)) AS inputTokens,
           sum(ifNull(OutputTokens, 0)) AS outputTokens, sum(ifNull(CostUsd, 0)) AS costUsd,
           quantile(0.5)(DurationMs) AS latencyP50Ms, quantile(0.95)(DurationMs) AS latencyP95Ms,
           arraySort(groupUniqArray(100)(Scorer)) AS scorers, sumMap(map(Reason, toUInt64(Reason != ''))) AS failures
         FROM (
           SELECT *, toStartOfHour(CalledAt) AS Hour,
             if(Status != 'success', substringUTF8(splitByString(': ', Error)[1], 1, ${MAX_REASON}), '') AS Reason
           FROM judge_calls
           WHERE WrittenAt >= fromUnixTimestamp64Milli({since:Int64}) AND CalledAt >= fromUnixTimestamp64Milli({since:Int64})
             ${tenant === undefined ? '' : 'AND Tenant = {tenant:String}'})
         GROUP BY GROUPING SETS ((judge), (judge, Hour))
         ORDER BY judge, isTotal DESC, hour`,
        { since: Math.max(0, Math.trunc(sinceMs)), tenant: tenant ?? '' },
      );
      return rows.map(toUse);
    },
  };
}

async function readSizes(
  database: Database,
  { tenant, scorers, repeatMark, limit }: CallSizeQuery,
): Promise<CallSize[]> {
  const sized = `Scorer IN {scorers:Array(String)} AND Status != 'failed' AND InputTokens IS NOT NULL
    AND OutputTokens IS NOT NULL ${tenant === undefined ? '' : 'AND Tenant = {tenant:String}'}`;
  // The newest calls are found without their prompts, which are most of the table.
  const rows = await database.rows<SizeRow>(
    `SELECT Tenant AS tenant, TraceId AS traceId, ScoreId AS scoreId, Scorer AS scorer, Step AS step, Model AS model, length(Prompt) AS promptBytes,
       position(Prompt, {repeatMark:String}) > 0 AS isRepeat, InputTokens AS inputTokens,
       OutputTokens AS outputTokens, CostUsd AS costUsd, DurationMs AS durationMs,
       toUnixTimestamp64Milli(CalledAt) AS calledAtMs
     FROM judge_calls
     WHERE ${sized} AND (Tenant, TraceId, CalledAt) IN (
       SELECT Tenant, TraceId, CalledAt FROM judge_calls WHERE ${sized}
       ORDER BY WrittenAt DESC LIMIT {limit:UInt32} BY Scorer, Model)
     ORDER BY Scorer, Model, ScoreId, CalledAt`,
    { scorers, repeatMark, limit, tenant: tenant ?? '' },
  );
  return rows.map((row) => ({
    ...row,
    promptBytes: Number(row.promptBytes),
    isRepeat: row.isRepeat === 1,
    inputTokens: Number(row.inputTokens),
    outputTokens: Number(row.outputTokens),
    calledAtMs: Number(row.calledAtMs),
  }));
}

type CallRow = Omit<JudgeCallRecord, 'inputTokens' | 'outputTokens' | 'calledAtMs'> & {
  readonly inputTokens: string | null;
  readonly outputTokens: string | null;
  readonly calledAtMs: string;
};

type SizeRow = Omit<CallSize, SizeNumber | 'isRepeat'> &
  Readonly<Record<SizeNumber, string>> & { readonly isRepeat: 0 | 1 };
type SizeNumber = 'promptBytes' | 'inputTokens' | 'outputTokens' | 'calledAtMs';

interface UseRow {
  readonly judge: string;
  readonly isTotal: number;
  readonly hour: number;
  readonly calls: string;
  readonly failed: string;
  readonly inputTokens: string;
  readonly outputTokens: string;
  readonly costUsd: number;
  readonly latencyP50Ms: number;
  readonly latencyP95Ms: number;
  readonly scorers: readonly string[];
  readonly failures: Readonly<Record<string, string>>;
}

function toUse({
  isTotal,
  hour,
  calls,
  failed,
  inputTokens,
  outputTokens,
  failures,
  ...rest
}: UseRow): JudgeUse {
  const counted = Object.entries(failures).filter(([reason]) => reason !== '');
  return {
    ...rest,
    hourMs: isTotal === 1 ? null : hour * 1_000,
    calls: Number(calls),
    failed: Number(failed),
    inputTokens: Number(inputTokens),
    outputTokens: Number(outputTokens),
    failures: Object.fromEntries(counted.map(([reason, amount]) => [reason, Number(amount)])),
  };
}
