import type { JudgeCallRecord, JudgeCallStore, Spending, SpendingRange } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { toDateTime } from '../values.ts';

/** Creates the store of judge calls for audit, and of their cost by rule. */
export function createJudgeCallStore(database: Database): JudgeCallStore {
  return {
    write: (calls) => database.insertRows('judge_calls', calls.map(toRow)),
    readSpending: (rule, range) => readSpending(database, rule, range),
    spend: (entries) =>
      database.insertRows(
        'spend',
        entries.map((entry) => ({
          Kind: entry.kind,
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

/**
 * Reads spending. A repeated entry counts once: an insert may happen after its client stopped waiting and repeated it. Entries of
 * earlier versions have no kind; their reservations count as spent.
 */
async function readSpending(
  database: Database,
  rule: string,
  { fromMs, toMs, openSinceMs }: SpendingRange,
): Promise<Spending> {
  const [row] = await database.rows<Spending>(
    `SELECT sum(Cost) AS bookedUsd,
       sumIf(Leased, LastAt >= fromUnixTimestamp64Milli({openSince:Int64})) AS reservedUsd
     FROM (
       SELECT LeaseId, sum(CostUsd) AS Cost, sumIf(CostUsd, Kind = 'lease') AS Leased, max(SpentAt) AS LastAt
       FROM (
         SELECT DISTINCT Kind, LeaseId, CallId, ScoreId, SpentAt, CostUsd FROM spend
         WHERE Rule = {rule:String} AND SpentAt >= fromUnixTimestamp64Milli({from:Int64})
           AND SpentAt < fromUnixTimestamp64Milli({to:Int64})
       )
       GROUP BY LeaseId
     )`,
    { rule, from: Math.trunc(fromMs), to: Math.trunc(toMs), openSince: Math.trunc(openSinceMs) },
  );
  return row ?? { bookedUsd: 0, reservedUsd: 0 };
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
