import type { TraceData } from '../../domain/span.ts';
import {
  joinTraceKey,
  type SpanSource,
  type TraceActivity,
  type TraceKey,
} from '../../store/contracts/stores.ts';
import { countChars, type Piece, type ReadPiece } from './piece.ts';
import type { PieceCache } from './piece-cache.ts';
import { readSlices } from './read-slices.ts';
import type { TraceJoiner } from './trace-joiner.ts';

/** Range before and after a piece in which its siblings are searched, milliseconds: a tool rarely takes longer. */
export const SIBLING_WINDOW_MS = 120_000;

/** Of a service with more traces than this in that time, nearer ones only are looked at. */
export const MAX_SIBLINGS_LISTED = 2_000;

/** A piece is not looked around for longer than this after its start, milliseconds, however late it says that it ended. */
const MAX_PIECE_MS = 3_600_000;

/** Factor and number of narrowings of the range. */
const NARROWER = 4;
const MAX_NARROWINGS = 4;

/** A run may go on: how often the pieces that were found are looked around from, and what is held of them at most. */
const MAX_ROUNDS = 8;
const MAX_CHARS = 64 * 1024 * 1024;

const KEYS_PER_LOOKUP = 500;

/** A run that came as several traces, or a piece of one whose rest has not come. */
export interface JoinedRun {
  /** Its trace id is that of the member that owns the run. */
  readonly data: TraceData;
  /** The traces that it is made of, by start. */
  readonly members: readonly TraceActivity[];
  readonly finished: boolean;
}

export interface SiblingSource {
  readonly spans: Pick<SpanSource, 'list' | 'facts' | 'read'>;
  readonly joiner: TraceJoiner;
  readonly cache: PieceCache;
}

/**
 * The runs that traces are pieces of, with the pieces that are stored near them in time: of the same tenant and service,
 * at most as many and as large as the limits here say. Traces that are runs by themselves are in none. Whichever piece one
 * begins with, the same run is found. Throws only when the store cannot be reached.
 */
export async function findJoinedRuns(
  source: SiblingSource,
  reads: readonly ReadPiece[],
): Promise<JoinedRun[]> {
  const runs: JoinedRun[] = [];
  const pieces = reads.flatMap((read) => remember(source, read) ?? []);
  for (const ofTenant of Map.groupBy(pieces, ({ activity }) => activity.tenant).values()) {
    if (ofTenant.some(({ piece }) => piece.isOpen)) {
      runs.push(...(await runsOfTenant(source, ofTenant)));
    }
  }
  return runs;
}

function remember({ joiner, cache }: SiblingSource, { activity, data }: ReadPiece): Piece | null {
  const piece = joiner.readPiece(data);
  const found = piece === undefined ? null : { activity, data, piece };
  cache.set(activity, activity.lastArrivalMs, found);
  return found;
}

async function runsOfTenant(source: SiblingSource, given: readonly Piece[]): Promise<JoinedRun[]> {
  const known = new Map(given.map((piece) => [piece.data.traceId, piece]));
  const lookedAround = new Set<string>();
  let open = given.filter(({ piece }) => piece.isOpen);
  let runs: JoinedRun[] = [];
  for (let round = 0; round < MAX_ROUNDS && open.length > 0; round++) {
    open.forEach(({ data }) => lookedAround.add(data.traceId));
    await addSiblings(source, open, known);
    runs = joined(source, known, given);
    const members = new Set(runs.flatMap((run) => run.members.map(({ traceId }) => traceId)));
    open = [...known.values()].filter(
      ({ data }) => members.has(data.traceId) && !lookedAround.has(data.traceId),
    );
  }
  return runs;
}

/** The runs that hold one of the given pieces; a piece alone only where the rest of its run is missing. */
function joined(
  { joiner }: SiblingSource,
  known: ReadonlyMap<string, Piece>,
  given: readonly Piece[],
): JoinedRun[] {
  const asked = new Set(given.map(({ data }) => data.traceId));
  const all = joiner.join([...known.values()].map(({ data }) => data));
  return all
    .filter(({ members }) => members.some(({ traceId }) => asked.has(traceId)))
    .filter(({ data, members, finished }) => {
      return members.length > 1 || (!finished && known.get(data.traceId)?.piece.isOpen === true);
    })
    .map(({ data, members, finished }) => ({
      data,
      members: members.flatMap(({ traceId }) => known.get(traceId)?.activity ?? []),
      finished,
    }));
}

/** Adds the pieces around some; stops adding at the limit of what is held. */
async function addSiblings(
  source: SiblingSource,
  around: readonly Piece[],
  known: Map<string, Piece>,
): Promise<void> {
  const near = await listNear(source, around);
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
  const small = {
    read: (keys: readonly TraceKey[]) => spans.read(keys, { atMostSpans: joiner.maxPieceSpans }),
  };
  let chars = [...known.values()].reduce((sum, piece) => sum + countChars(piece), 0);
  for await (const slice of readSlices(small, wanted)) {
    for (const read of slice) {
      const activity = byKey.get(joinTraceKey(read.key));
      if (activity !== undefined && 'data' in read) {
        const found = remember(source, { activity, data: read.data });
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

/** Traces of agents or models that start near some pieces: as near as it takes for them not to be too many. */
async function listNear(source: SiblingSource, around: readonly Piece[]): Promise<TraceActivity[]> {
  for (let narrowing = 0; narrowing <= MAX_NARROWINGS; narrowing++) {
    const found = await listWithin(source, around, SIBLING_WINDOW_MS / NARROWER ** narrowing);
    if (found !== null) {
      return found.filter((activity) => activity.agentSeen);
    }
  }
  return [];
}

async function listWithin(
  { spans }: SiblingSource,
  around: readonly Piece[],
  windowMs: number,
): Promise<TraceActivity[] | null> {
  const tenant = around[0]?.activity.tenant ?? '';
  const found: TraceActivity[] = [];
  for (const { fromMs, toMs } of rangesAround(around, windowMs)) {
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

/** Times around pieces, those that overlap as one. */
function rangesAround(around: readonly Piece[], windowMs: number): Range[] {
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

/** By a narrow query, so that another service's content is not read. A piece without a service is compared with all. */
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
        const of: readonly string[] | undefined = facts.get(joinTraceKey(trace))?.services;
        return of === undefined || of.some((service) => services.has(service));
      }),
    );
  }
  return wanted;
}
