import type { AgentRun } from '../../domain/agent-run.ts';
import type { TraceData } from '../../domain/span.ts';
import { AppError } from '../../domain/errors.ts';
import type { SessionKey, SessionTurn } from '../../store/contracts/sessions.ts';
import { joinTraceKey, type TraceKey } from '../../store/contracts/stores.ts';
import { countChars, type ReadPiece } from '../read/piece.ts';
import type { ReadContext } from '../read/read-context.ts';
import { findJoinedRuns } from '../read/sibling-traces.ts';
import { buildSessionContent, type SessionContent } from './session-content.ts';

/** Most turns of a session that are read, newest first. */
export const MAX_SESSION_TURNS = 100;

/** Characters of attributes and logs after which no earlier turn is read. */
const MAX_SESSION_CHARS = 16 * 1024 * 1024;

/** Traces of one read. */
const TURNS_PER_READ = 20;

/**
 * Reads the turns of a session as one conversation, the newest first, up to the limits. Returns null when no turn is stored any
 * more. Throws what the store throws.
 * @param count number of all turns
 */
export async function readSession(
  context: ReadContext,
  { sessionId }: SessionKey,
  { turns, count }: { readonly turns: readonly SessionTurn[]; readonly count: number },
): Promise<SessionContent | null> {
  const found: AgentRun[] = [];
  let readTurns = 0;
  let chars = 0;
  for (let start = 0; start < turns.length && chars < MAX_SESSION_CHARS; start += TURNS_PER_READ) {
    const slice = turns.slice(start, start + TURNS_PER_READ);
    for (const data of await readTraces(context, slice)) {
      chars += countChars({ data });
      const reading = await context.readTrace(data);
      found.push(...reading.runs.filter((run) => run.sessionId === sessionId));
    }
    readTurns += slice.length;
  }
  if (found.length === 0) {
    return null;
  }
  const inOrder = found.toSorted((a, b) =>
    a.startedAt < b.startedAt ? -1 : a.startedAt > b.startedAt ? 1 : 0,
  );
  return buildSessionContent(sessionId, inOrder, count - readTurns);
}

/** Reads traces, and joins runs that came as several. A trace that cannot be read is left out, unless the store may give it later. */
async function readTraces({ stores, joining }: ReadContext, keys: readonly TraceKey[]): Promise<TraceData[]> {
  const { spans } = stores;
  const [data, activities] = await Promise.all([readAll(spans, keys), spans.activity(keys)]);
  const pieces = keys.flatMap((key): ReadPiece[] => {
    const name = joinTraceKey(key);
    const [trace, activity] = [data.get(name), activities.get(name)];
    return trace === undefined || activity === undefined ? [] : [{ activity, data: trace }];
  });
  const joined = joining === null ? [] : await findJoinedRuns({ spans, ...joining }, pieces);
  const members = new Set(joined.flatMap((run) => run.members.map(({ traceId }) => traceId)));
  return [
    ...joined.map((run) => run.data),
    ...pieces.flatMap((piece) => (members.has(piece.data.traceId) ? [] : [piece.data])),
  ];
}

async function readAll(
  spans: ReadContext['stores']['spans'],
  keys: readonly TraceKey[],
): Promise<Map<string, TraceData>> {
  try {
    return await spans.read(keys);
  } catch (error) {
    if (!(error instanceof AppError) || error.retryable) {
      throw error;
    }
    const [only] = keys;
    if (keys.length <= 1 || only === undefined) {
      return new Map();
    }
    const half = Math.ceil(keys.length / 2);
    return new Map([
      ...(await readAll(spans, keys.slice(0, half))),
      ...(await readAll(spans, keys.slice(half))),
    ]);
  }
}
