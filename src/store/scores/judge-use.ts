import type { CallSize, CallSizeQuery, JudgeUse, JudgeUseStore } from '../contracts/judge-use.ts';
import type { JudgeCallRecord } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { fromInteger } from '../values.ts';

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
