import { LAST_MOMENT_MS } from '../../domain/durations.ts';
import {
  joinTraceKey,
  MAX_KEYS,
  type SpanSource,
  type TraceActivity,
  type TraceKey,
} from '../contracts/stores.ts';
import { type Database, readValue } from '../database.ts';

export type StartRange = Parameters<SpanSource['list']>[0];

/** Start of a trace, in Unix nanoseconds as decimal text. */
export interface StartCandidate extends TraceKey {
  readonly start: string;
}

export interface StartIndex {
  /**
   * Returns the next candidates in the range after `after`, in order, at most `most` of them. They include the earliest start of each trace, and
   * possibly later starts of the same trace. `next` is the `after` of the next call; null at the end of the range.
   */
  candidates(
    range: StartRange,
    after: StartCandidate,
    most: number,
  ): Promise<{ found: readonly StartCandidate[]; next: StartCandidate | null }>;
  activity(keys: readonly TraceKey[]): Promise<Map<string, TraceActivity>>;
}

/** Candidates that are read beyond the wanted traces: a trace that began before the page has candidates in it. */
const SPARE = { share: 0.1, least: 20 };

/**
 * Lists the traces whose earliest span starts in the range, in (start, trace id, tenant) order. A trace that arrived in
 * several blocks has one candidate for each block. Only the earliest of them counts, so each trace is listed once.
 */
export async function listByStart(index: StartIndex, range: StartRange): Promise<TraceActivity[]> {
  const listed: TraceActivity[] = [];
  let after: StartCandidate | null = firstCursor(range);
  while (after !== null && listed.length < range.limit) {
    const wanted = range.limit - listed.length;
    const most = Math.min(MAX_KEYS, Math.ceil(wanted * (1 + SPARE.share)) + SPARE.least);
    const { found, next }: Awaited<ReturnType<StartIndex['candidates']>> = await index.candidates(
      range,
      after,
      most,
    );
    listed.push(...findEarliest(found, await index.activity(found)));
    after = next;
  }
  return listed.slice(0, range.limit);
}

export function ownStarts(database: Database, activity: StartIndex['activity']): StartIndex {
  return {
    candidates: async (range, after, most) => {
      const found = await readCandidates(database, range, { after, most });
      return { found, next: found.length < most ? null : (found.at(-1) ?? null) };
    },
    activity,
  };
}

/** Sorts after every tenant name. A range without a tenant starts after the trace id in all tenants. */
const AFTER_ALL_TENANTS = '\u{10ffff}';

function firstCursor({ fromMs, after }: StartRange): StartCandidate {
  return after === undefined
    ? { start: toNanos(fromMs), traceId: '', tenant: '' }
    : {
        start: String(after.startUnixNano),
        traceId: after.traceId,
        tenant: after.tenant ?? AFTER_ALL_TENANTS,
      };
}

function readCandidates(
  database: Database,
  range: StartRange,
  { after, most }: { readonly after: StartCandidate; readonly most: number },
): Promise<StartCandidate[]> {
  return database.rows<StartCandidate>(
    `SELECT toString(FirstStart) AS start, TraceId AS traceId, Tenant AS tenant
     FROM trace_starts
     WHERE FirstStart >= {from:Int64} AND FirstStart >= {afterStart:Int64} AND FirstStart < {to:Int64}
       AND (FirstStart, TraceId, Tenant) > ({afterStart:Int64}, {afterTrace:String}, {afterTenant:String})
       ${range.tenant === undefined ? '' : 'AND Tenant = {tenant:String}'}
     GROUP BY FirstStart, traceId, tenant
     ORDER BY FirstStart, traceId, tenant
     LIMIT {limit:UInt32}`,
    {
      tenant: range.tenant ?? '',
      from: toNanos(range.fromMs),
      to: toNanos(range.toMs),
      afterStart: after.start,
      afterTrace: after.traceId,
      afterTenant: after.tenant,
      limit: most,
    },
  );
}

/** Estimates how many traces have a span that starts in the range. */
export async function countByStart(
  database: Database,
  { tenant, fromMs, toMs }: Parameters<SpanSource['count']>[0],
): Promise<number> {
  const sql = `SELECT uniq(Tenant, TraceId) FROM trace_starts
     WHERE FirstStart >= {from:Int64} AND FirstStart < {to:Int64}
       ${tenant === undefined ? '' : 'AND Tenant = {tenant:String}'}
     SETTINGS timeout_overflow_mode = 'break'`;
  return (await readValue(database, sql, { tenant, from: toNanos(fromMs), to: toNanos(toMs) })) ?? 0;
}

function findEarliest(
  candidates: readonly StartCandidate[],
  activity: ReadonlyMap<string, TraceActivity>,
): TraceActivity[] {
  return candidates.flatMap((candidate) => {
    const found = activity.get(joinTraceKey(candidate));
    return found !== undefined && found.firstStartUnixNano === BigInt(candidate.start) ? [found] : [];
  });
}

const INT64_MAX = 2n ** 63n - 1n;

/** Converts Unix milliseconds to nanoseconds as decimal text, limited to the range of span times (1970 to 2262). */
export function toNanos(ms: number): string {
  if (ms > LAST_MOMENT_MS) {
    return String(INT64_MAX);
  }
  return String(BigInt(Math.trunc(Math.max(ms, 0))) * 1_000_000n);
}
