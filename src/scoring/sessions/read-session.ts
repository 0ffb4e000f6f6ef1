import type { AgentRun } from '../../domain/trace/agent-run.ts';
import type { ListedTurns, SessionKey } from '../../store/contracts/sessions.ts';
import { joinTraceKey } from '../../store/contracts/stores.ts';
import type { TraceData } from '../../domain/trace/span.ts';
import { countChars, type ReadPiece } from '../read/piece.ts';
import type { ReadContext } from '../read/read-context.ts';
import { readSlices, type ReadTrace } from '../read/read-slices.ts';
import { findJoinedRuns } from '../read/sibling-traces.ts';
import { buildSessionContent, type SessionContent } from './session-content.ts';

/** Most turns of a session that are read, newest first. */
export const MAX_SESSION_TURNS = 100;

/** Characters of attributes and logs after which no earlier turn is read. */
const MAX_SESSION_CHARS = 16 * 1024 * 1024;

/**
 * Reads the turns of a session as one conversation, the newest first, up to the limits. Returns null when no turn is stored any
 * more. Throws what the store throws.
 */
export async function readSession(
  context: ReadContext,
  { sessionId }: SessionKey,
  { turns, count }: ListedTurns,
): Promise<SessionContent | null> {
  const found: AgentRun[] = [];
  let readTurns = 0;
  let chars = 0;
  for await (const slice of readSlices(context.stores.spans, turns, context.contentMemory.quick)) {
    try {
      for (const data of await joinPieces(context, slice)) {
        chars += countChars({ data });
        const reading = await context.readTrace(data);
        found.push(...reading.runs.filter((run) => run.sessionId === sessionId));
      }
    } finally {
      slice.forEach((read) => 'data' in read && context.contentMemory.release(read.data));
    }
    readTurns += slice.length;
    if (chars >= MAX_SESSION_CHARS) {
      break;
    }
  }
  if (found.length === 0) {
    return null;
  }
  const inOrder = found.toSorted((a, b) =>
    a.startedAt < b.startedAt ? -1 : a.startedAt > b.startedAt ? 1 : 0,
  );
  const content = buildSessionContent(sessionId, inOrder, count - readTurns);
  context.onSession?.(content);
  return content;
}

/** Joins runs that came as several traces. A trace that cannot be read is left out, unless the same read may succeed later. */
async function joinPieces(
  { stores, joining }: ReadContext,
  slice: readonly ReadTrace[],
): Promise<TraceData[]> {
  const { spans } = stores;
  const failed = slice.find((read) => 'error' in read && read.error.retryable);
  if (failed !== undefined && 'error' in failed) {
    throw failed.error;
  }
  const traces = slice.flatMap((read) => ('data' in read ? [read] : []));
  if (joining === null) {
    return traces.map(({ data }) => data);
  }
  const activities = await spans.activity(traces.map(({ key }) => key));
  const pieces = traces.flatMap(({ key, data }): ReadPiece[] => {
    const activity = activities.get(joinTraceKey(key));
    return activity === undefined ? [] : [{ activity, data }];
  });
  const joined = await findJoinedRuns({ spans, ...joining }, pieces);
  const members = new Set(joined.flatMap((run) => run.members.map(({ traceId }) => traceId)));
  return [
    ...joined.map((run) => run.data),
    ...traces.flatMap(({ data }) => (members.has(data.traceId) ? [] : [data])),
  ];
}
