import type { JudgeCallRecord, JudgeCallStore, Spending } from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { toDateTime } from '../values.ts';

/** Creates the store of judge calls for audit, and of their cost by rule. */
export function createJudgeCallStore(database: Database): JudgeCallStore {
  return {
    write: (calls) => database.insertRows('judge_calls', calls.map(toRow)),
    readSpending: (rule, sinceMs, openSinceMs) => readSpending(database, { rule, sinceMs, openSinceMs }),
    spend: (entries) =>
      database.insertRows(
        'spend',
        entries.map((entry) => ({
          Rule: entry.rule,
          SpentAt: toDateTime(entry.atMs),
          ScoreId: entry.scoreId,
          CallId: entry.callId,
          CostUsd: entry.costUsd,
        })),
      ),
  };
}

/**
 * Reads spending. A call has one entry while it is under way and two when it is settled. Entries of versions before 0012
 * have no call id.
 */
async function readSpending(
  database: Database,
  { rule, sinceMs, openSinceMs }: { rule: string; sinceMs: number; openSinceMs: number },
): Promise<Spending> {
  const [row] = await database.rows<Spending>(
    `SELECT sum(Cost) AS bookedUsd,
       sumIf(Cost, Entries = 1 AND CallId != '' AND BookedAt >= fromUnixTimestamp64Milli({openSince:Int64})) AS reservedUsd
     FROM (
       SELECT CallId, sum(CostUsd) AS Cost, count() AS Entries, max(SpentAt) AS BookedAt FROM spend
       WHERE Rule = {rule:String} AND SpentAt >= fromUnixTimestamp64Milli({since:Int64})
       GROUP BY CallId
     )`,
    { rule, since: Math.trunc(sinceMs), openSince: Math.trunc(openSinceMs) },
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
