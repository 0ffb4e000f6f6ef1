import type { SpanSource, TraceActivity, TraceKey } from './contracts/stores.ts';
import { traceKeyOf } from './contracts/stores.ts';
import { readActivity } from './activity.ts';
import type { Database } from './database.ts';
import { MAX_KEYS } from './trace-keys.ts';

export type StartRange = Parameters<SpanSource['list']>[0];

interface Candidate extends TraceKey {
  start: string;
}

/**
 * Traces whose earliest span starts in the range, in (start, trace id, tenant) order. A trace that arrived in several
 * blocks has a candidate start for each; only the one that is its earliest of all counts, so a trace is listed once.
 */
export async function listByStart(database: Database, range: StartRange): Promise<TraceActivity[]> {
  const listed: TraceActivity[] = [];
  let after: Candidate | null = firstCursor(range);
  while (after !== null && listed.length < range.limit) {
    const candidates: Candidate[] = await readCandidates(database, range, after);
    listed.push(...(await earliestOf(database, candidates)));
    after = candidates.length < MAX_KEYS ? null : (candidates.at(-1) ?? null);
  }
  return listed.slice(0, range.limit);
}

/** Later than every tenant's name: a caller that names no tenant has seen the trace id in all of them. */
const AFTER_ALL_TENANTS = '\u{10ffff}';

function firstCursor({ fromMs, after }: StartRange): Candidate {
  return after === undefined
    ? { start: nanosOf(fromMs), traceId: '', tenant: '' }
    : {
        start: String(after.startUnixNano),
        traceId: after.traceId,
        tenant: after.tenant ?? AFTER_ALL_TENANTS,
      };
}

function readCandidates(database: Database, range: StartRange, after: Candidate): Promise<Candidate[]> {
  return database.rows<Candidate>(
    `SELECT FirstStart AS start, TraceId AS traceId, Tenant AS tenant
     FROM trace_starts
     WHERE FirstStart >= {from:Int64} AND FirstStart >= {afterStart:Int64} AND FirstStart < {to:Int64}
       AND (FirstStart, TraceId, Tenant) > ({afterStart:Int64}, {afterTrace:String}, {afterTenant:String})
       ${range.tenant === undefined ? '' : 'AND Tenant = {tenant:String}'}
     GROUP BY start, traceId, tenant
     ORDER BY start, traceId, tenant
     LIMIT {limit:UInt32}`,
    {
      tenant: range.tenant ?? '',
      from: nanosOf(range.fromMs),
      to: nanosOf(range.toMs),
      afterStart: after.start,
      afterTrace: after.traceId,
      afterTenant: after.tenant,
      limit: MAX_KEYS,
    },
  );
}

async function earliestOf(database: Database, candidates: readonly Candidate[]): Promise<TraceActivity[]> {
  const activity = await readActivity(database, candidates);
  return candidates.flatMap((candidate) => {
    const found = activity.get(traceKeyOf(candidate));
    return found !== undefined && found.firstStartUnixNano === BigInt(candidate.start) ? [found] : [];
  });
}

const INT64_MAX = 2n ** 63n - 1n;
const LAST_MS = Number(INT64_MAX / 1_000_000n);

/** Unix milliseconds as nanoseconds in decimal, held within what a span time can be (1970 to 2262). */
export function nanosOf(ms: number): string {
  if (ms > LAST_MS) {
    return String(INT64_MAX);
  }
  return String(BigInt(Math.trunc(Math.max(ms, 0))) * 1_000_000n);
}
