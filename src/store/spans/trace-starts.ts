import type { SpanSource, TraceActivity, TraceKey } from '../contracts/stores.ts';
import { joinTraceKey } from '../contracts/stores.ts';
import { readActivity } from './activity.ts';
import type { Database } from '../database.ts';
import { MAX_KEYS } from './trace-keys.ts';

export type StartRange = Parameters<SpanSource['list']>[0];

/** A start of a trace, Unix nanoseconds in decimal. */
export interface StartCandidate extends TraceKey {
  readonly start: string;
}

/** Index of traces by their start. */
export interface StartIndex {
  /**
   * The next starts of traces in the range after a candidate, in order: each trace's earliest is among them, and others
   * may be. `next` is where to go on; null at the end.
   */
  candidates(
    range: StartRange,
    after: StartCandidate,
  ): Promise<{ found: readonly StartCandidate[]; next: StartCandidate | null }>;
  activity(keys: readonly TraceKey[]): Promise<Map<string, TraceActivity>>;
}

/**
 * Traces whose earliest span starts in the range, in (start, trace id, tenant) order. A trace that arrived in several
 * blocks has a candidate start for each; only the one that is its earliest of all counts, so a trace is listed once.
 */
export async function listByStart(index: StartIndex, range: StartRange): Promise<TraceActivity[]> {
  const listed: TraceActivity[] = [];
  let after: StartCandidate | null = firstCursor(range);
  while (after !== null && listed.length < range.limit) {
    const { found, next }: Awaited<ReturnType<StartIndex['candidates']>> = await index.candidates(
      range,
      after,
    );
    listed.push(...findEarliest(found, await index.activity(found)));
    after = next;
  }
  return listed.slice(0, range.limit);
}

/** Our own tables. */
export function ownStarts(database: Database): StartIndex {
  return {
    candidates: async (range, after) => {
      const found = await readCandidates(database, range, after);
      return { found, next: found.length < MAX_KEYS ? null : (found.at(-1) ?? null) };
    },
    activity: (keys) => readActivity(database, keys),
  };
}

/** Later than every tenant's name: a caller that names no tenant has seen the trace id in all of them. */
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
  after: StartCandidate,
): Promise<StartCandidate[]> {
  return database.rows<StartCandidate>(
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
      from: toNanos(range.fromMs),
      to: toNanos(range.toMs),
      afterStart: after.start,
      afterTrace: after.traceId,
      afterTenant: after.tenant,
      limit: MAX_KEYS,
    },
  );
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
const LAST_MS = Number(INT64_MAX / 1_000_000n);

/** Unix milliseconds as nanoseconds in decimal, held within what a span time can be (1970 to 2262). */
export function toNanos(ms: number): string {
  if (ms > LAST_MS) {
    return String(INT64_MAX);
  }
  return String(BigInt(Math.trunc(Math.max(ms, 0))) * 1_000_000n);
}
