import { buildOutcome, type SessionContent, type TraceOutcome } from '../trace-task.ts';
import type { Decision } from '../../domain/decision.ts';
import { buildSessionTargetId } from '../../domain/session-target.ts';
import type {
  ListedTurns,
  SessionActivity,
  SessionKey,
  UndecidedSession,
} from '../../store/contracts/lists.ts';
import type { SessionStore } from '../../store/tables/sessions.ts';
import { scoreTask, traceError } from '../apply-rules.ts';
import { buildExpiredRow } from '../record/decision-rows.ts';
import { readStoreClock } from '../live/timers.ts';
import type { Scoring } from '../scoring.ts';
import type { ScoringMode } from '../scoring-mode.ts';
import { selectSessions, sessionMode } from './select-sessions.ts';
import { AppError } from '../../domain/errors.ts';
import type { Claim } from '../../ownership/ownership.ts';
import type { PurgedTraces } from '../../store/contracts/purge.ts';
import { type AgentRun, type RetrievedDocument, addUsage } from '../../domain/trace/agent-run.ts';
import { joinTraceKey } from '../../store/contracts/stores.ts';
import type { TraceData } from '../../domain/trace/span.ts';
import { countChars, findJoinedRuns, type ReadPiece } from '../read/sibling-traces.ts';
import { readSlices, type ReadTrace } from '../read/read-slices.ts';
import type { AgentMessage } from '../../domain/trace/messages.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { AHEAD_MS } from '../../readiness/readiness.ts';

/**
 * Scores a session by the rules on sessions, when it is ready. It is the same path as that of a trace: the turns are read as one
 * run. Returns an outcome without a trace id. Throws when the store cannot be read.
 */
export async function scoreSession(
  scoring: Scoring,
  key: SessionKey & Partial<Pick<UndecidedSession, 'isLate'>>,
  mode: ScoringMode,
  settings: SessionSettings,
): Promise<TraceOutcome> {
  const outcomeKey = { tenant: key.tenant, traceId: '' };
  try {
    return await scoreReady(scoring, key, sessionMode(mode), settings);
  } catch (error) {
    return buildOutcome(outcomeKey, { error: traceError(error) });
  }
}

async function scoreReady(
  scoring: Scoring,
  key: SessionKey & Partial<Pick<UndecidedSession, 'isLate'>>,
  mode: ScoringMode,
  settings: SessionSettings,
): Promise<TraceOutcome> {
  const { tenant, sessionId, isLate } = key;
  const { stores } = scoring;
  const targetId = buildSessionTargetId(sessionId);
  const outcomeKey = { tenant, traceId: '' };
  const taken = scoring.claims.claim({ tenant, traceId: targetId });
  if (taken === null) {
    return buildOutcome(outcomeKey);
  }
  const claim = endWithPurge(taken, scoring.purged, key);
  const clock = await readStoreClock(stores.spans, scoring.monotonicMs);
  const [activity, rows] = await Promise.all([
    stores.sessions.activity({ tenant, sessionId }),
    stores.sessions.decisions(tenant, [targetId]),
  ]);
  const names = new Set(mode.rules.map((rule) => rule.name));
  const prior = rows.filter((row) => names.has(row.rule));
  if (activity === undefined) {
    return expire(scoring, outcomeKey, mode, buildExpired(prior, clock.nowMs()));
  }
  const waitUntilMs = mode.waits
    ? await readSessionWait(stores.sessions, activity, prior, clock.nowMs(), settings)
    : null;
  if (waitUntilMs !== null) {
    return buildOutcome(outcomeKey, { waitUntilMs });
  }
  const [chosen] = await selectSessions(scoring, [{ activity, claim, prior, clock, isLate }], mode);
  if (chosen === undefined || chosen.selected.rules.length + chosen.selected.declined.length === 0) {
    return buildOutcome(outcomeKey);
  }
  const { selected, listed } = chosen;
  const existing = await stores.sessions.scores({ tenant, sessionId });
  const content = selected.rules.length === 0 ? null : await readSession(scoring, key, listed);
  if (content === null && selected.rules.length > 0) {
    return expire(scoring, outcomeKey, mode, buildExpired(prior, clock.nowMs()));
  }
  return scoreTask(scoring, { ...selected, existing, facts: undefined, read: content }, mode);
}

function buildExpired(prior: readonly Decision[], nowMs: number): Decision[] {
  return prior.filter((row) => row.status === 'deferred').map((row) => buildExpiredRow(row, nowMs));
}

/** Ends the deferred decisions of a session whose turns are no longer stored. */
async function expire(
  { decisionWriter }: Scoring,
  key: TraceOutcome['key'],
  { write }: ScoringMode,
  rows: readonly Decision[],
): Promise<TraceOutcome> {
  if (write) {
    await decisionWriter.write(rows);
  }
  return buildOutcome(key, { decisions: rows });
}

/** Guards a claim on a session: it ends when turns of the session are purged, because they may have been read. */
function endWithPurge(claim: Claim, purged: PurgedTraces, key: SessionKey): Claim {
  const mark = purged.mark();
  return {
    ...claim,
    check: async () => {
      await claim.check();
      await purged.renew();
      if (purged.isTouched(key, mark)) {
        throw new AppError('turns of the session were purged while it was scored', {
          code: 'cancelled',
          stage: 'judge',
          retryable: true,
          details: { isPurged: true },
        });
      }
    },
  };
}

/** Characters of attributes and logs after which no earlier turn is read. */
const MAX_SESSION_CHARS = 16 * 1024 * 1024;

/**
 * Reads the turns of a session as one conversation, the newest first, up to the limits. Returns null when no turn is stored any
 * more. Throws what the store throws.
 */
export async function readSession(
  context: Scoring,
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
async function joinPieces({ stores, joining }: Scoring, slice: readonly ReadTrace[]): Promise<TraceData[]> {
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

/**
 * Builds one run of the turns of a session. The question is that of the last turn, so that it goes with the last answer. The
 * history is the conversation before it, the output is the answers of all turns, and the context is that of all turns. A turn
 * that cannot be scored counts for usage, models and time only. `turns` are in order of time and not empty.
 */
export function buildSessionContent(
  sessionId: string,
  turns: readonly AgentRun[],
  leftOut: number,
): SessionContent {
  const spoken = turns.filter(({ scorable }) => scorable);
  const [first] = spoken.length > 0 ? spoken : turns;
  const last = spoken.at(-1) ?? turns.at(-1);
  if (first === undefined || last === undefined) {
    throw new RangeError('a session without turns has no content');
  }
  const before = spoken.slice(0, -1).flatMap(({ input, output }) => [...input.inputMessages, ...output]);
  const detail = `the session has more turns than are read at once: ${leftOut} earlier ones were left out`;
  return {
    session: {
      ...last,
      target: { kind: 'session', traceId: '', spanId: '' },
      conventions: unique(turns.flatMap((turn) => turn.conventions)),
      sessionId,
      userId: findLast(turns, (turn) => turn.userId),
      models: unique(turns.toReversed().flatMap((turn) => turn.models)),
      usage: turns.map((turn) => turn.usage).reduce(addUsage),
      startedAt: turns.map((turn) => turn.startedAt).reduce((a, b) => (a < b ? a : b)),
      endedAt: turns.map((turn) => turn.endedAt).reduce((a, b) => (a > b ? a : b)),
      input: {
        ...last.input,
        rememberedMessages: [...first.input.rememberedMessages, ...before],
      },
      output: spoken.flatMap((turn): AgentMessage[] => turn.output),
      documents: uniqueDocuments(spoken.flatMap((turn) => turn.documents)),
      ...mergeTools(spoken),
      context: unique(spoken.flatMap((turn) => turn.context)),
      warnings: [
        ...turns.flatMap((turn) => turn.warnings),
        ...(leftOut > 0 ? [{ code: 'session_too_long', spanId: '', detail }] : []),
      ],
      subRuns: [],
    },
    turns: turns.length,
    isPartial: leftOut > 0,
  };
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}

function mergeTools(turns: readonly AgentRun[]): Pick<AgentRun, 'tools'> {
  const tools = [
    ...new Map(turns.flatMap((turn) => turn.tools ?? []).map((tool) => [tool.name, tool])).values(),
  ];
  return tools.length === 0 ? {} : { tools };
}

function uniqueDocuments(documents: readonly RetrievedDocument[]): RetrievedDocument[] {
  return [...new Map(documents.map((each) => [JSON.stringify([each.id, each.content]), each])).values()];
}

function findLast(turns: readonly AgentRun[], read: (turn: AgentRun) => string | null): string | null {
  return turns.map(read).findLast((value) => value !== null) ?? null;
}

/** Times that a session is waited for. */
export interface SessionSettings {
  /** Time without new turns after which a session is ready, milliseconds. */
  readonly idleMs: number;
  /** Age at which a session is ready even if it is never idle, milliseconds since its first arrival or its last decision. */
  readonly maxAgeMs: number;
  /** Most times that a session is scored within 24 hours. */
  readonly rescores: number;
}

/** Settings with which every session is ready at once. */
export const NO_SESSION_WAIT: SessionSettings = { idleMs: 0, maxAgeMs: Infinity, rescores: Infinity };

/** Computes the age of the oldest turn with which a session is searched: at least twice the maximum age, milliseconds. */
export function computeSessionReach(
  { maxAgeMs }: Pick<SessionSettings, 'maxAgeMs'>,
  reachMs: number,
): number {
  return Math.max(reachMs, 2 * maxAgeMs);
}

/**
 * Reads the time at which a session is ready, by the store's clock; null when it is ready now. The results of the last 24 hours are
 * read only for a session that has as many as the limit at all. Throws when the store does.
 */
export async function readSessionWait(
  sessions: Pick<SessionStore, 'resultTimes'>,
  activity: SessionActivity,
  prior: readonly Decision[],
  nowMs: number,
  settings: SessionSettings,
): Promise<number | null> {
  const waitUntilMs = computeSessionWait(activity, prior, nowMs, settings);
  if (waitUntilMs !== null || prior.every(({ revision }) => revision < settings.rescores)) {
    return waitUntilMs;
  }
  const times = await sessions.resultTimes({
    tenant: activity.tenant,
    targetId: buildSessionTargetId(activity.sessionId),
    rules: [...new Set(prior.map(({ rule }) => rule))],
    sinceMs: nowMs - DAY_MS,
  });
  return computeSessionWait(activity, prior, nowMs, settings, times);
}

/**
 * Computes the time at which a session is ready, by the store's clock; null when it is ready now.
 * @param resultMs times of its results within the last 24 hours, in order
 */
export function computeSessionWait(
  { firstArrivalMs, lastArrivalMs }: SessionActivity,
  prior: readonly Decision[],
  nowMs: number,
  { idleMs, maxAgeMs, rescores }: SessionSettings,
  resultMs: readonly number[] = [],
): number | null {
  const decidedUntil = prior.reduce((latest, row) => Math.max(latest, row.evidenceUntil), 0);
  // An arrival ahead of the store's clock came before the clock went back.
  const isAhead = lastArrivalMs > nowMs + AHEAD_MS;
  if ((prior.length > 0 && lastArrivalMs <= decidedUntil) || isAhead) {
    return null;
  }
  const openedMs = prior.length > 0 ? decidedUntil : firstArrivalMs;
  const readyMs = Math.min(lastArrivalMs + idleMs, openedMs + maxAgeMs);
  const at = Math.max(readyMs, (resultMs.at(-rescores) ?? -Infinity) + DAY_MS);
  return at > nowMs ? at : null;
}
