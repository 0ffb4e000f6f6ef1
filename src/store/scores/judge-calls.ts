import type { BudgetScope } from '../../domain/money/budget.ts';
import type {
  JudgeCallRecord,
  JudgeCallStore,
  Spending,
  SpendingPart,
  SpendingRange,
} from '../contracts/stores.ts';
import type { Database } from '../database.ts';
import { toDateTime } from '../values.ts';

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
