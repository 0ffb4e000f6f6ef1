import type { Scoring, ScoringStores } from '../scoring.ts';
import { buildSessionTargetId, HASHED_SESSION } from '../../domain/session-target.ts';
import type { Decision } from '../../domain/decision.ts';
import type { Claim } from '../../ownership/ownership.ts';
import type { ListedTurns, SessionActivity, SessionKey } from '../../store/contracts/lists.ts';
import type { SessionStore } from '../../store/tables/sessions.ts';
import { joinTraceKey, type TraceActivity, type TraceFacts } from '../../store/contracts/stores.ts';
import type { ScoringMode } from '../scoring-mode.ts';
import type { StoreClock } from '../live/timers.ts';
import { joinTimes, mergeFacts, findVersionStates, selectTrace } from '../select/select-traces.ts';
import type { Where } from '../select/rule.ts';
import type { TraceCandidate } from '../trace-task.ts';
import { listOpenRules, needsFacts, needsFeedback } from '../select/select-rules.ts';
import { isMetUnread, listAttributeKeys, needsFactsFor } from '../select/where.ts';

/** Most sessions that are read at the same time: their turns are in memory. */
export const SESSIONS_AT_ONCE = 8;

type TurnStores = Pick<ScoringStores, 'sessions' | 'spans'>;

/** A session that is ready, with what is known of it. */
export interface ReadySession {
  readonly activity: SessionActivity;
  readonly claim: Claim;
  /** Current decisions of the session. */
  readonly prior: readonly Decision[];
  readonly clock: StoreClock;
  /** True when a turn may have been stored after the decisions had read the turns. */
  readonly isLate?: boolean | undefined;
}

/** Returns the mode in which the rules on sessions score sessions, as rules on traces score traces. */
export function sessionMode(mode: ScoringMode): ScoringMode {
  return { ...mode, rules: mode.sessionRules, sessionRules: [] };
}

/**
 * Decides for each rule whether it scores a session, as for a trace: its turns together stand for the trace. Does so for several sessions, in
 * their order. Stored scores are not read. Throws what the store throws.
 */
export async function selectSessions(scoring: Scoring, ready: readonly ReadySession[], mode: ScoringMode) {
  const joined = await joinTurns(scoring.stores, ready);
  const all = joined.map((turns) => ({ ...turns, candidate: buildCandidate(turns) }));
  const open = mode.selects ? all.map(({ candidate }) => listOpenRules(candidate, mode).open) : [];
  const attributeKeys = open.flat().flatMap(({ rule }) => listAttributeKeys(rule.where));
  const needs = open.some(needsFacts) ? { attributeKeys, feedback: open.some(needsFeedback) } : null;
  const known = await readTurnFacts(scoring.stores, all, needs);
  return Promise.all(
    known.map(async ({ of, candidate, listed, facts }) => {
      const key = joinTraceKey(candidate.activity);
      const factsByKey = new Map(facts === undefined ? [] : [[key, facts]]);
      const versions = (await findVersionStates(scoring, [candidate], factsByKey, mode)).get(key);
      const existingReadMs = Number.POSITIVE_INFINITY;
      const lookups = { facts, versions, existing: [], existingReadMs, knownRuns: [], clock: of.clock };
      return { of, selected: selectTrace(candidate, lookups, mode), listed };
    }),
  );
}

/**
 * Returns the sessions that are known to meet conditions before their turns are read. They look at the turns of a session together, as
 * those of a rule on sessions do. Throws what the store throws.
 */
export async function filterSessions<Session extends SessionActivity>(
  stores: TurnStores,
  sessions: readonly Session[],
  where: Where,
): Promise<Session[]> {
  const joined = await joinTurns(
    stores,
    sessions.map((activity) => ({ activity })),
  );
  const needs = { attributeKeys: listAttributeKeys(where), feedback: false };
  const known = await readTurnFacts(stores, joined, needsFactsFor(where) ? needs : null);
  return known.filter((session) => isMetUnread(where, session)).map(({ of }) => of.activity);
}

function buildCandidate({ of, activity }: JoinedTurns<ReadySession>): TraceCandidate {
  const { claim, prior, clock, isLate = false } = of;
  const { tenant, sessionId } = of.activity;
  const targetId = buildSessionTargetId(sessionId);
  return {
    activity,
    session: { targetId, samplingId: `session ${tenant} ${targetId}` },
    claim,
    prior,
    reread: isLate,
    reservation: undefined,
    nowMs: clock.nowMs(),
  };
}

/** Newest turns of a session, together as the activity of one trace. */
interface JoinedTurns<Of> {
  readonly of: Of;
  readonly listed: ListedTurns;
  readonly activity: TraceActivity;
}

/** Joins the newest turns of each session. A rule covers a session by its last arrival. It lasts as long as its turns together. */
async function joinTurns<Of extends { readonly activity: SessionActivity }>(
  { sessions, spans }: TurnStores,
  all: readonly Of[],
): Promise<JoinedTurns<Of>[]> {
  const keys = all.map(({ activity: { tenant, sessionId } }) => ({ tenant, sessionId }));
  const listings = await sessions.turnsOf(keys, MAX_SESSION_TURNS);
  const activities = await spans.activity(listings.flatMap(({ turns }) => turns));
  return all.map((of, index) => {
    const { tenant, lastArrivalMs } = of.activity;
    const listed = listings[index] ?? { turns: [], count: 0 };
    const activity = {
      tenant,
      traceId: '',
      firstArrivalMs: lastArrivalMs,
      lastArrivalMs,
      ...joinTimes(listed.turns.flatMap((turn) => activities.get(joinTraceKey(turn)) ?? [])),
      rootSeen: true,
      agentSeen: true,
      errorSeen: false,
    };
    return { of, listed, activity };
  });
}

/** Adds the facts of the turns together: a fact of one turn is a fact of the session. */
async function readTurnFacts<Known extends { readonly listed: ListedTurns }>(
  { spans }: TurnStores,
  all: readonly Known[],
  needs: { readonly attributeKeys: readonly string[]; readonly feedback: boolean } | null,
): Promise<(Known & { readonly facts: TraceFacts | undefined })[]> {
  if (needs === null) {
    return all.map((known) => ({ ...known, facts: undefined }));
  }
  const { attributeKeys, feedback } = needs;
  const turns = all.flatMap(({ listed }) => listed.turns);
  const found = await spans.facts(turns, [...new Set(attributeKeys)], { feedback });
  return all.map((known) => {
    const facts = known.listed.turns.flatMap((turn) => found.get(joinTraceKey(turn)) ?? []);
    return { ...known, facts: mergeFacts(facts) };
  });
}

/**
 * Finds the sessions of decisions, keyed by `joinTraceKey` with the target id in the place of the trace id. A long id is looked up; one
 * whose runs have expired is absent.
 */
export async function findSessionKeys(
  sessions: Pick<SessionStore, 'findIds'>,
  decisions: readonly Pick<Decision, 'tenant' | 'targetId'>[],
): Promise<Map<string, SessionKey>> {
  const plain = decisions.filter(({ targetId }) => !targetId.startsWith(HASHED_SESSION));
  const hashed = decisions.filter(({ targetId }) => targetId.startsWith(HASHED_SESSION));
  const keys = [
    ...plain.map(({ tenant, targetId }) => ({ tenant, sessionId: targetId })),
    ...(await sessions.findIds(hashed)),
  ];
  return new Map(
    keys.map((key) => [
      joinTraceKey({ tenant: key.tenant, traceId: buildSessionTargetId(key.sessionId) }),
      key,
    ]),
  );
}

/** Most turns of a session that are read, newest first. */
export const MAX_SESSION_TURNS = 100;
