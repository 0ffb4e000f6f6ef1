import { buildSessionTargetId } from '../../domain/session-target.ts';
import type { Decision } from '../../domain/decision.ts';
import type { Claim } from '../../ownership/claim.ts';
import type { ListedTurns, SessionActivity } from '../../store/contracts/sessions.ts';
import { joinTraceKey, type TraceActivity, type TraceFacts } from '../../store/contracts/stores.ts';
import type { ScoringMode } from '../scoring-mode.ts';
import type { ScoringStores } from '../scoring-stores.ts';
import { joinTimes } from '../select/join-times.ts';
import { mergeFacts } from '../select/merge-facts.ts';
import type { NewVersions } from '../select/new-versions.ts';
import type { Where } from '../select/rule.ts';
import { listOpenRules, needsFacts, needsFeedback, type TraceCandidate } from '../select/select-rules.ts';
import { findVersionStates, selectTrace, type Selected } from '../select/select-traces.ts';
import { isMetUnread, listAttributeKeys, needsFactsFor } from '../select/where.ts';
import type { StoreClock } from '../store-clock.ts';
import { MAX_SESSION_TURNS } from './read-session.ts';

/** Most sessions that are read at the same time: their turns are in memory. */
export const SESSIONS_AT_ONCE = 8;

type TurnStores = Pick<ScoringStores, 'sessions' | 'spans'>;

/** Needs of the selection of sessions. */
export interface SelectSessionContext {
  readonly stores: TurnStores;
  readonly newVersions: NewVersions;
}

/** A session that is ready, with what is known of it. */
export interface ReadySession {
  readonly activity: SessionActivity;
  readonly claim: Claim;
  /** Current decisions of the session. */
  readonly prior: readonly Decision[];
  readonly clock: StoreClock;
}

/** A session whose rules have been selected and whose turns are not read yet. */
export interface SelectedSession {
  readonly selected: Selected;
  readonly listed: ListedTurns;
}

/** Returns the mode in which the rules on sessions score sessions, as rules on traces score traces. */
export function sessionMode(mode: ScoringMode): ScoringMode {
  return { ...mode, rules: mode.sessionRules, sessionRules: [] };
}

/** Decides for each rule whether it scores a session, as for a trace: its turns together stand for the trace. Throws what the store throws. */
export async function selectSession(
  { stores, newVersions }: SelectSessionContext,
  { activity: session, claim, prior, clock }: ReadySession,
  mode: ScoringMode,
): Promise<SelectedSession> {
  const { tenant, sessionId } = session;
  const targetId = buildSessionTargetId(sessionId);
  const { listed, activity } = await joinTurns(stores, session);
  const candidate: TraceCandidate = {
    activity,
    session: { targetId, samplingId: `session ${tenant} ${targetId}` },
    claim,
    prior,
    reread: false,
    room: undefined,
    nowMs: clock.nowMs(),
  };
  const existingReadMs = Number.POSITIVE_INFINITY;
  const existing = await stores.sessions.scores({ tenant, sessionId });
  const facts = await readFacts(stores, candidate, listed, mode);
  const activityKey = joinTraceKey(candidate.activity);
  const factsByKey = new Map(facts === undefined ? [] : [[activityKey, facts]]);
  const versions = (await findVersionStates({ newVersions }, [candidate], factsByKey, mode)).get(activityKey);
  const lookups = { facts, versions, existing, existingReadMs, knownRuns: [], clock };
  return { selected: selectTrace(candidate, lookups, mode), listed };
}

/**
 * Returns true when a session is known to meet conditions before its turns are read. They look at its turns together, as those of a rule
 * on sessions do. Throws what the store throws.
 */
export async function meetsConditions(
  stores: TurnStores,
  session: SessionActivity,
  where: Where,
): Promise<boolean> {
  const { listed, activity } = await joinTurns(stores, session);
  const facts = needsFactsFor(where)
    ? await readTurnFacts(stores, listed, { attributeKeys: listAttributeKeys(where), feedback: false })
    : undefined;
  return isMetUnread(where, { activity, facts });
}

/** Describes the newest turns together as the activity of one trace. A rule covers it by its last arrival. It lasts as long as its turns. */
async function joinTurns(
  { sessions, spans }: TurnStores,
  { tenant, sessionId, lastArrivalMs }: SessionActivity,
): Promise<{ readonly listed: ListedTurns; readonly activity: TraceActivity }> {
  const listed = await sessions.turns({ tenant, sessionId }, MAX_SESSION_TURNS);
  const turns = await spans.activity(listed.turns);
  const activity = {
    tenant,
    traceId: '',
    firstArrivalMs: lastArrivalMs,
    lastArrivalMs,
    ...joinTimes([...turns.values()]),
    rootSeen: true,
    agentSeen: true,
    errorSeen: false,
  };
  return { listed, activity };
}

async function readFacts(
  stores: TurnStores,
  candidate: TraceCandidate,
  listed: ListedTurns,
  mode: ScoringMode,
): Promise<TraceFacts | undefined> {
  const { open } = listOpenRules(candidate, mode);
  if (!mode.selects || !needsFacts(open)) {
    return undefined;
  }
  const attributeKeys = open.flatMap(({ rule }) => listAttributeKeys(rule.where));
  return readTurnFacts(stores, listed, { attributeKeys, feedback: needsFeedback(open) });
}

/** Reads the facts of the turns together: a fact of one turn is a fact of the session. */
async function readTurnFacts(
  { spans }: TurnStores,
  { turns }: ListedTurns,
  { attributeKeys, feedback }: { readonly attributeKeys: readonly string[]; readonly feedback: boolean },
): Promise<TraceFacts | undefined> {
  return mergeFacts(await spans.facts(turns, [...new Set(attributeKeys)], { feedback }));
}
