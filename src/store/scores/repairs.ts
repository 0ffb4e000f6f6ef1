import { TupleParam } from '@clickhouse/client';
import { BACKFILL_RULES, COMMAND_RULE } from '../../domain/decision.ts';
import type { RepairPage, RepairQuery, RepairStore } from '../contracts/repairs.ts';
import type { Database } from '../database.ts';
import type { QueryParams } from '../query-params.ts';
import { decisionRows } from '../table-rows.ts';

/** Creates the store of the work of repairs. */
export function createRepairStore(database: Database): RepairStore {
  return {
    read: (query, limit) => readToRepair(database, query, limit),
    count: (query) => countToRepair(database, query),
  };
}

/** Reads the decisions of the next traces or sessions of a repair. The inner query may name some whose decisions were replaced. */
async function readToRepair(database: Database, query: RepairQuery, limit: number): Promise<RepairPage> {
  const id = idColumn(query);
  const keys = await database.rows<{ tenant: string; id: string; mark: string }>(
    `SELECT DISTINCT Tenant AS tenant, ${id} AS id, ${markOf(query)} AS mark FROM decisions
     WHERE ${buildConditions(query)}
     ORDER BY mark
     LIMIT {limit:UInt32}`,
    { ...buildParams(query), limit },
  );
  if (keys.length === 0) {
    return { decisions: [], after: null };
  }
  const decisions = await decisionRows.read(
    database,
    `FROM decisions FINAL
     WHERE ${query.ofSessions ? "TraceId = '' AND " : ''}(Tenant, ${id}) IN {keys:Array(Tuple(String, String))}
       AND ${buildConditions({ ...query, after: null })}
     ORDER BY ${markOf(query)}, Tenant, ${id}, Target, TargetId, Rule, Scorer`,
    { ...buildParams(query), keys: keys.map((key) => new TupleParam([key.tenant, key.id])) },
  );
  return { decisions, after: keys.length < limit ? null : (keys.at(-1)?.mark ?? null) };
}

async function countToRepair(database: Database, query: RepairQuery): Promise<number> {
  const [row] = await database.rows<{ decisions: string }>(
    `SELECT count() AS decisions FROM decisions FINAL WHERE ${buildConditions(query)}`,
    buildParams(query),
  );
  return Number(row?.decisions ?? 0);
}

function idColumn({ ofSessions }: Pick<RepairQuery, 'ofSessions'>): string {
  return ofSessions ? 'TargetId' : 'TraceId';
}

/** SQL for the hash of a trace or a session that orders them. Two of them have the same one once in 10^9 repairs of a million. */
function markOf(query: Pick<RepairQuery, 'ofSessions'>): string {
  const [first, second] = [1, 17].map(
    (start) => `reinterpretAsUInt64(unhex(substring({orderKey:String}, ${start}, 16)))`,
  );
  return `sipHash64Keyed((${first}, ${second}), Tenant, ${idColumn(query)})`;
}

function buildConditions(query: RepairQuery): string {
  return [
    query.ofSessions ? "TraceId = '' AND Target = 'session'" : "TraceId != ''",
    `Status = {status:String} AND NOT startsWith(Rule, '${BACKFILL_RULES}') AND Rule != '${COMMAND_RULE}'`,
    'EvidenceUntil >= fromUnixTimestamp64Milli({since:Int64})',
    ...(query.scorer === undefined ? [] : ['Scorer = {scorer:String}']),
    ...(query.after === null ? [] : [`${markOf(query)} > {after:UInt64}`]),
  ].join(' AND ');
}

function buildParams({ status, scorer, sinceMs, orderKey, after }: RepairQuery): QueryParams {
  return {
    status,
    scorer: scorer ?? '',
    since: Math.max(0, Math.trunc(sinceMs)),
    orderKey,
    after: after ?? '0',
  };
}
