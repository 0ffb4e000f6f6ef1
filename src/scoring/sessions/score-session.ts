import type { Decision } from '../../domain/decision.ts';
import { buildSessionTargetId } from '../../domain/session-target.ts';
import type { SessionActivity, SessionKey } from '../../store/contracts/sessions.ts';
import { joinTraceKey, type TraceActivity, type TraceFacts } from '../../store/contracts/stores.ts';
import { scoreTask, traceError } from '../apply-rules.ts';
import { buildExpiredRow } from '../record/decision-rows.ts';
import { mergeFacts } from '../select/merge-facts.ts';
import type { Scoring } from '../scoring.ts';
import type { ScoringMode } from '../scoring-mode.ts';
import { listOpenRules, needsFacts, needsFeedback, type TraceCandidate } from '../select/select-rules.ts';
import { findVersionStates, selectTrace } from '../select/select-traces.ts';
import { joinTimes } from '../select/join-times.ts';
import { listAttributeKeys } from '../select/where.ts';
import { readStoreClock } from '../store-clock.ts';
import { buildOutcome, type TraceOutcome } from '../trace-task.ts';
import { MAX_SESSION_TURNS, readSession } from './read-session.ts';
import { endWithPurge } from './purge-guard.ts';
import { readSessionWait, type SessionSettings } from './session-readiness.ts';

/**
 * Scores a session by the rules on sessions, when it is ready. It is the same path as that of a trace: the turns are read as one
 * run. Returns an outcome without a trace id. Throws when the store cannot be read.
 */
export async function scoreSession(
  scoring: Scoring,
  key: SessionKey,
  mode: ScoringMode,
  settings: SessionSettings,
): Promise<TraceOutcome> {
  const outcomeKey = { tenant: key.tenant, traceId: '' };
  try {
    return await scoreReady(scoring, key, { ...mode, rules: mode.sessionRules, sessionRules: [] }, settings);
  } catch (error) {
    return buildOutcome(outcomeKey, { error: traceError(error) });
  }
}

async function scoreReady(
  scoring: Scoring,
  key: SessionKey,
  mode: ScoringMode,
  settings: SessionSettings,
): Promise<TraceOutcome> {
  const { tenant, sessionId } = key;
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
    stores.sessions.activity(key),
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
  const listed = await stores.sessions.turns(key, MAX_SESSION_TURNS);
  const turns = await stores.spans.activity(listed.turns);
  const candidate: TraceCandidate = {
    activity: describeActivity(activity, [...turns.values()]),
    session: { targetId, samplingId: `session ${tenant} ${targetId}` },
    claim,
    prior,
    reread: false,
    room: undefined,
    nowMs: clock.nowMs(),
  };
  const existingReadMs = Number.POSITIVE_INFINITY;
  const existing = await stores.sessions.scores(key);
  const facts = await readFacts(scoring, candidate, listed.turns, mode);
  const activityKey = joinTraceKey(candidate.activity);
  const factsByKey = new Map(facts === undefined ? [] : [[activityKey, facts]]);
  const versions = (await findVersionStates(scoring, [candidate], factsByKey, mode)).get(activityKey);
  const lookups = { facts, versions, existing, existingReadMs, knownRuns: [], clock };
  const selected = selectTrace(candidate, lookups, mode);
  if (selected.rules.length + selected.declined.length === 0) {
    return buildOutcome(outcomeKey);
  }
  const content = selected.rules.length === 0 ? null : await readSession(scoring, key, listed);
  if (content === null && selected.rules.length > 0) {
    return expire(scoring, outcomeKey, mode, buildExpired(prior, clock.nowMs()));
  }
  return scoreTask(scoring, { ...selected, facts: undefined, read: content }, mode);
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

/** Describes a session as the activity of a trace. A rule covers it by its last arrival. It lasts as long as its turns together. */
function describeActivity(
  { tenant, lastArrivalMs }: SessionActivity,
  turns: readonly TraceActivity[],
): TraceActivity {
  return {
    tenant,
    traceId: '',
    firstArrivalMs: lastArrivalMs,
    lastArrivalMs,
    ...joinTimes(turns),
    rootSeen: true,
    agentSeen: true,
    errorSeen: false,
  };
}

/** Reads the facts of the turns together: a fact of one turn is a fact of the session. */
async function readFacts(
  { stores }: Scoring,
  candidate: TraceCandidate,
  turns: readonly { readonly tenant: string; readonly traceId: string }[],
  mode: ScoringMode,
): Promise<TraceFacts | undefined> {
  const { open } = listOpenRules(candidate, mode);
  if (!mode.selects || !needsFacts(open)) {
    return undefined;
  }
  const attributeKeys = new Set(open.flatMap(({ rule }) => listAttributeKeys(rule.where)));
  return mergeFacts(await stores.spans.facts(turns, [...attributeKeys], { feedback: needsFeedback(open) }));
}
