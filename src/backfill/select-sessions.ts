import type { Decision } from '../domain/decision.ts';
import { buildSessionTargetId } from '../domain/session-target.ts';
import { filterSessions } from '../scoring/sessions/select-sessions.ts';
import type { ScoringMode } from '../scoring/scoring-mode.ts';
import { computeSessionReach, computeSessionWait } from '../scoring/sessions/score-session.ts';
import type { EndedSession, SessionKey, SessionPlace } from '../store/contracts/sessions.ts';
import type { BackfillRange } from './backfill-spec.ts';
import type { PageTimes } from './checkpoint.ts';
import {
  collectTargets,
  type BackfillContext,
  type Live,
  type PlacedTarget,
  type Selecting,
  type SelectedTargets,
} from './select-backfill.ts';

/** Most sessions of one page. */
export const SESSION_PAGE = 200;

/** One page of the sessions of a backfill. */
export interface SessionPage extends SelectedTargets<SessionKey> {
  /** Starts of the last turns of the listed sessions, Unix milliseconds. */
  readonly times: PageTimes;
}

/** Place and size of a page of sessions. */
export interface SessionListing {
  /** Only sessions whose last turn starts after this time, Unix milliseconds as decimal text; null: from the begin. */
  readonly after: string | null;
  readonly limit: number;
}

/**
 * Selects the sessions of a backfill whose last turn lies in its range and that meet its conditions, page by page. A session is known by
 * the runs that were read. Throws `AppError` when the store cannot be read.
 */
export async function* selectSessions(
  { stores }: BackfillContext,
  range: BackfillRange,
  selecting: Selecting,
  listing: SessionListing,
): AsyncGenerator<SessionPage> {
  if (selecting.mode.sessionRules.length === 0) {
    return;
  }
  for await (const { sessions: found, times } of listSessions(stores, range, listing)) {
    const nowMs = await stores.spans.nowMs();
    const placed: PlacedTarget<SessionKey>[] = [];
    for (const [ofTenant, sessions] of Map.groupBy(found, (session) => session.tenant)) {
      const ids = sessions.map(({ sessionId }) => buildSessionTargetId(sessionId));
      const rows = Map.groupBy(await stores.sessions.decisions(ofTenant, ids), (row) => row.targetId);
      for (const session of sessions) {
        const decisions = rows.get(buildSessionTargetId(session.sessionId)) ?? [];
        placed.push(placeSession({ session, decisions, nowMs }, selecting));
      }
    }
    yield { ...collectTargets(placed), times };
  }
}

/** Place in the list before every session of a time. */
const NO_SESSION = { tenant: '', sessionId: '' };

/** Lists the sessions whose last turn lies in a range and that meet its conditions, page by page. */
export async function* listSessions(
  stores: Pick<BackfillContext['stores'], 'sessions' | 'spans'>,
  { tenant, fromMs, toMs, where }: BackfillRange,
  { after: first, limit }: SessionListing,
): AsyncGenerator<{ readonly sessions: readonly EndedSession[]; readonly times: PageTimes }> {
  let after: SessionPlace | undefined =
    first === null ? undefined : { ...NO_SESSION, lastTurnMs: Number(first) + 1 };
  for (;;) {
    const listed = await stores.sessions.list({ tenant, fromMs, toMs, after, limit });
    const [earliest, last] = [listed[0], listed.at(-1)];
    if (earliest === undefined || last === undefined) {
      return;
    }
    after = last;
    const sessions = where === undefined ? listed : await filterSessions(stores, listed, where);
    yield { sessions, times: { first: BigInt(earliest.lastTurnMs), last: BigInt(last.lastTurnMs) } };
  }
}

interface KnownSession {
  readonly session: EndedSession;
  readonly decisions: readonly Decision[];
  readonly nowMs: number;
}

function placeSession(
  known: KnownSession,
  { mode, live, readiness, sessions: settings }: Selecting,
): PlacedTarget<SessionKey> {
  const { session, decisions, nowMs } = known;
  const names = new Set(mode.sessionRules.map((rule) => rule.name));
  const prior = decisions.filter((row) => names.has(row.rule));
  if (computeSessionWait(session, prior, nowMs, settings) !== null) {
    return { place: 'arriving' };
  }
  if (isOwed(known, mode, live, computeSessionReach(settings, readiness.reachMs))) {
    return { place: 'owed' };
  }
  const isDecided =
    mode.redo === null &&
    mode.sessionRules.every((rule) =>
      isFinal(
        prior.filter((row) => row.rule === rule.name),
        session,
      ),
    );
  const { tenant, sessionId } = session;
  return isDecided
    ? { place: 'decided', prior }
    : { place: 'taken', key: { tenant, sessionId }, isFresh: prior.length === 0 };
}

/** Returns true when a live rule has yet to decide the session with a scorer of the backfill, and its sweep still finds it. */
function isOwed(
  { session, decisions, nowMs }: KnownSession,
  mode: ScoringMode,
  live: Live,
  reachMs: number,
): boolean {
  const ours = new Set(mode.sessionRules.flatMap((rule) => rule.scorers.map(({ name }) => name)));
  return (
    session.lastArrivalMs >= nowMs - reachMs &&
    live.rules.some(
      (rule) =>
        rule.target === 'session' &&
        rule.scorers.some(({ name }) => ours.has(name)) &&
        live.history.inForce(rule, session.lastArrivalMs) !== null &&
        !isFinal(
          decisions.filter((row) => row.rule === rule.name),
          session,
        ),
    )
  );
}

/** Returns true for rows that are final and have seen the latest turn. */
function isFinal(rows: readonly Decision[], { lastArrivalMs }: EndedSession): boolean {
  return (
    rows.length > 0 && rows.every((row) => row.status !== 'deferred' && row.evidenceUntil >= lastArrivalMs)
  );
}
