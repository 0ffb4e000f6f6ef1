import { LruMap } from '../../domain/lru-map.ts';
import type { JoinedTrace, TraceData, TracePiece } from '../../domain/trace/span.ts';
import {
  joinTraceKey,
  type SpanSource,
  type TraceActivity,
  type TraceKey,
} from '../../store/contracts/stores.ts';
import { readSlices } from './read-slices.ts';

/** Finds and joins the pieces of runs: some instrumentations make a trace of every model call. */
export interface TraceJoiner {
  /** Most spans of one piece. */
  readonly maxPieceSpans: number;
  /** Returns undefined for a trace that is not a piece of a run. */
  readPiece(trace: TraceData): TracePiece | undefined;
  /** Joins traces in any order. */
  join(traces: readonly TraceData[]): readonly JoinedTrace[];
}

/** A trace that was read, with its activity from before the read. */
export interface ReadPiece {
  readonly activity: TraceActivity;
  readonly data: TraceData;
}

/** A trace that may be one piece of a run. */
export interface Piece extends ReadPiece {
  readonly piece: TracePiece;
}

/** Counts the characters of attributes and log bodies, which can be long. */
export function countChars({ data }: Pick<Piece, 'data'>): number {
  let chars = 0;
  for (const { attributes, events } of data.spans) {
    for (const each of [attributes, ...events.map((event) => event.attributes)]) {
      each.forEach((value) => (chars += value.length));
    }
  }
  data.logs.forEach((log) => (chars += log.body.length));
  return chars;
}

/** Most traces in the cache, and most characters of their attributes together. */
const MAX_ENTRIES = 4_096;
const MAX_CACHED_CHARS = 32 * 1024 * 1024;

interface Entry {
  readonly lastArrivalMs: number;
  /** Null for a trace that is not a piece of a run. */
  readonly piece: Piece | null;
  readonly chars: number;
}

/** Cache of traces that were read as possible pieces of a run, so that the traces of a busy service are read once. */
export class PieceCache {
  readonly #entries = new LruMap<Entry>(
    { maxEntries: MAX_ENTRIES, maxSize: MAX_CACHED_CHARS },
    ({ chars }) => chars,
  );

  /** Returns undefined when the cache has no entry of the trace with this last arrival. */
  get(key: TraceKey, lastArrivalMs: number): Piece | null | undefined {
    const entry = this.#entries.get(joinTraceKey(key));
    return entry?.lastArrivalMs === lastArrivalMs ? entry.piece : undefined;
  }

  set(key: TraceKey, lastArrivalMs: number, piece: Piece | null): void {
    const chars = piece === null ? 0 : countChars(piece);
    this.#entries.set(joinTraceKey(key), { lastArrivalMs, piece, chars });
  }

  clear(): void {
    this.#entries.clear();
  }
}

/** Time before and after a piece in which its siblings are searched, milliseconds. A tool rarely takes longer. */
const SIBLING_WINDOW_MS = 120_000;

/** Most siblings of one search. With more traces in that time, the time is narrowed. */
const MAX_SIBLINGS_LISTED = 2_000;

/** Longest time after the start of a piece that is searched, milliseconds, however late its end is. */
const MAX_PIECE_MS = 3_600_000;

/** Factor by which the time is narrowed, and how often. */
const NARROWER = 4;
const MAX_NARROWINGS = 4;

/** Most rounds of a search, each around the pieces that the last one found, and most characters of the pieces. */
const MAX_ROUNDS = 8;
const MAX_CHARS = 64 * 1024 * 1024;

const KEYS_PER_LOOKUP = 500;

/** A run that came as several traces, or a piece of a run whose other pieces have not come. */
export interface JoinedRun {
  /** All spans, under the trace id of the member that owns the run. */
  readonly data: TraceData;
  /** Traces of the run, ordered by start. */
  readonly members: readonly TraceActivity[];
  /** False when the end of the run has not come. */
  readonly finished: boolean;
}

export interface SiblingSource {
  readonly spans: Pick<SpanSource, 'list' | 'facts' | 'read'>;
  readonly joiner: TraceJoiner;
  readonly cache: PieceCache;
}

/**
 * Finds the runs of some traces, with the other pieces that are stored near them in time. The pieces have the same tenant and
 * service, within the limits of this file. A trace that is a run by itself is in no result. The same run is found from each of
 * its pieces. Throws only when the store cannot be reached.
 */
export async function findJoinedRuns(
  source: SiblingSource,
  reads: readonly ReadPiece[],
): Promise<JoinedRun[]> {
  const runs: JoinedRun[] = [];
  const pieces = reads.flatMap((read) => findPiece(source, read) ?? []);
  for (const tenantPieces of Map.groupBy(pieces, ({ activity }) => activity.tenant).values()) {
    if (tenantPieces.some(({ piece }) => piece.isOpen)) {
      runs.push(...(await findRunsOfTenant(source, tenantPieces)));
    }
  }
  return runs;
}

/** Reads a trace as a piece of a run, and keeps it for the other pieces; null for a run by itself. */
export function findPiece(
  { joiner, cache }: Pick<SiblingSource, 'joiner' | 'cache'>,
  { activity, data }: ReadPiece,
): Piece | null {
  const piece = joiner.readPiece(data);
  const found = piece === undefined ? null : { activity, data, piece };
  cache.set(activity, activity.lastArrivalMs, found);
  return found;
}

async function findRunsOfTenant(source: SiblingSource, given: readonly Piece[]): Promise<JoinedRun[]> {
  const known = new Map(given.map((piece) => [piece.data.traceId, piece]));
  const searched = new Set<string>();
  let open = given.filter(({ piece }) => piece.isOpen);
  let runs: JoinedRun[] = [];
  for (let round = 0; round < MAX_ROUNDS && open.length > 0; round++) {
    open.forEach(({ data }) => searched.add(data.traceId));
    await addSiblings(source, open, known);
    runs = joinPieces(source, known, given);
    const members = new Set(runs.flatMap((run) => run.members.map(({ traceId }) => traceId)));
    open = [...known.values()].filter(({ data }) => members.has(data.traceId) && !searched.has(data.traceId));
  }
  return runs;
}

/** Joins the known pieces. Returns the runs of the given pieces; a piece alone is a run only while its other pieces are missing. */
function joinPieces(
  { joiner }: SiblingSource,
  known: ReadonlyMap<string, Piece>,
  given: readonly Piece[],
): JoinedRun[] {
  const givenIds = new Set(given.map(({ data }) => data.traceId));
  const all = joiner.join([...known.values()].map(({ data }) => data));
  return all
    .filter(({ members }) => members.some(({ traceId }) => givenIds.has(traceId)))
    .filter(({ data, members, finished }) => {
      return members.length > 1 || (!finished && known.get(data.traceId)?.piece.isOpen === true);
    })
    .map(({ data, members, finished }) => ({
      data,
      members: members.flatMap(({ traceId }) => known.get(traceId)?.activity ?? []),
      finished,
    }));
}

/** Adds the pieces near some pieces to `known`, up to the limit of characters. */
async function addSiblings(
  source: SiblingSource,
  around: readonly Piece[],
  known: Map<string, Piece>,
): Promise<void> {
  const near = await listTracesNear(source, around);
  const unread: TraceActivity[] = [];
  for (const activity of near) {
    const remembered = source.cache.get(activity, activity.lastArrivalMs);
    if (remembered === undefined) {
      unread.push(activity);
    } else if (remembered !== null && !known.has(activity.traceId)) {
      known.set(activity.traceId, remembered);
    }
  }
  const wanted = (await listTracesOfServices(source, unread, around)).filter(
    ({ traceId }) => !known.has(traceId),
  );
  const byKey = new Map(wanted.map((activity) => [joinTraceKey(activity), activity]));
  const { spans, joiner } = source;
  const smallSpans = {
    read: (keys: readonly TraceKey[]) => spans.read(keys, { atMostSpans: joiner.maxPieceSpans }),
  };
  let chars = [...known.values()].reduce((sum, piece) => sum + countChars(piece), 0);
  for await (const slice of readSlices(smallSpans, wanted)) {
    for (const read of slice) {
      const activity = byKey.get(joinTraceKey(read.key));
      if (activity !== undefined && 'data' in read) {
        const found = findPiece(source, { activity, data: read.data });
        chars += found === null ? 0 : countChars(found);
        if (found !== null) {
          known.set(activity.traceId, found);
        }
      }
    }
    if (chars > MAX_CHARS) {
      return;
    }
  }
}

/** Lists traces of agents or models that start near some pieces. Narrows the time until they are not too many. */
async function listTracesNear(source: SiblingSource, around: readonly Piece[]): Promise<TraceActivity[]> {
  for (let narrowing = 0; narrowing <= MAX_NARROWINGS; narrowing++) {
    const found = await listTracesWithin(source, around, SIBLING_WINDOW_MS / NARROWER ** narrowing);
    if (found !== null) {
      return found.filter((activity) => activity.agentSeen);
    }
  }
  return [];
}

async function listTracesWithin(
  { spans }: SiblingSource,
  around: readonly Piece[],
  windowMs: number,
): Promise<TraceActivity[] | null> {
  const tenant = around[0]?.activity.tenant ?? '';
  const found: TraceActivity[] = [];
  for (const { fromMs, toMs } of listRangesAround(around, windowMs)) {
    const limit = MAX_SIBLINGS_LISTED + 1 - found.length;
    found.push(...(await spans.list({ tenant, fromMs, toMs, limit })));
    if (found.length > MAX_SIBLINGS_LISTED) {
      return null;
    }
  }
  return found;
}

interface Range {
  readonly fromMs: number;
  toMs: number;
}

/** Lists the times around pieces; overlapping times are merged. */
function listRangesAround(around: readonly Piece[], windowMs: number): Range[] {
  const single = around
    .map(({ piece }) => {
      const [startMs, endMs] = [toMilliseconds(piece.startUnixNano), toMilliseconds(piece.endUnixNano)];
      const toMs = Math.min(endMs, startMs + MAX_PIECE_MS) + windowMs + 1;
      return { fromMs: startMs - windowMs, toMs };
    })
    .toSorted((a, b) => a.fromMs - b.fromMs);
  const ranges: Range[] = [];
  for (const range of single) {
    const last = ranges.at(-1);
    if (last !== undefined && range.fromMs <= last.toMs) {
      last.toMs = Math.max(last.toMs, range.toMs);
    } else {
      ranges.push(range);
    }
  }
  return ranges;
}

function toMilliseconds(unixNano: bigint): number {
  return Number(unixNano / 1_000_000n);
}

/**
 * Keeps the traces of the services of some pieces. A narrow query finds the services, so that content of other services is not
 * read. A piece without a service is compared with all traces.
 */
async function listTracesOfServices(
  { spans }: SiblingSource,
  traces: readonly TraceActivity[],
  around: readonly Piece[],
): Promise<TraceActivity[]> {
  const services = new Set(around.map(({ piece }) => piece.service));
  const wanted: TraceActivity[] = [];
  for (let start = 0; start < traces.length; start += KEYS_PER_LOOKUP) {
    const slice = traces.slice(start, start + KEYS_PER_LOOKUP);
    const facts = services.has('') ? new Map() : await spans.facts(slice, []);
    wanted.push(
      ...slice.filter((trace) => {
        const traceServices: readonly string[] | undefined = facts.get(joinTraceKey(trace))?.services;
        return traceServices === undefined || traceServices.some((service) => services.has(service));
      }),
    );
  }
  return wanted;
}
