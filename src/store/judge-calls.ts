import type { JudgeCallRecord, JudgeCallStore } from './contracts/stores.ts';
import type { Database } from './database.ts';
import { toDateTime } from './values.ts';

/** Judge calls for audit, and what they cost by rule. */
export function createJudgeCallStore(database: Database): JudgeCallStore {
  return {
    write: (calls) => database.insertRows('judge_calls', calls.map(toRow)),
    spentSince: (rule, sinceMs) => spentSince(database, rule, sinceMs),
    spend: (entries) =>
      database.insertRows(
        'spend',
        entries.map((entry) => ({
          Rule: entry.rule,
          SpentAt: toDateTime(entry.atMs),
          ScoreId: entry.scoreId,
          CostUsd: entry.costUsd,
        })),
      ),
  };
}

async function spentSince(database: Database, rule: string, sinceMs: number): Promise<number> {
  const [row] = await database.rows<{ spent: number }>(
    `SELECT sum(CostUsd) AS spent FROM spend
     WHERE Rule = {rule:String} AND SpentAt >= fromUnixTimestamp64Milli({since:Int64})`,
    { rule, since: Math.trunc(sinceMs) },
  );
  return row?.spent ?? 0;
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
