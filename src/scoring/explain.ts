import { WHOLE_RULE, type Decision } from '../domain/decision.ts';
import { DAY_MS } from '../domain/durations.ts';
import type { Score } from '../domain/score.ts';
import { OWN_SCOPE, type TraceData } from '../domain/trace/span.ts';
import { SOLE_CLAIMS } from '../ownership/ownership.ts';
import { joinTraceKey, type TraceActivity, type TraceKey } from '../store/contracts/stores.ts';
import { prepareRule, buildRuleHistory, type Rule } from './select/rule.ts';
import type { Scoring, ScoringStores } from './scoring.ts';
import { liveMode, type ScoringMode } from './scoring-mode.ts';
import { listOpenRules, computeWaitUntil, type OpenRule } from './select/select-rules.ts';
import { checkReadiness } from '../readiness/readiness.ts';
import type { TraceCandidate } from './trace-task.ts';
import { findJoinedRuns, type JoinedRun } from './read/sibling-traces.ts';
import { buildSessionTargetId } from '../domain/session-target.ts';
import type { SessionActivity } from '../store/contracts/lists.ts';
import { readSessionWait, type SessionSettings } from './sessions/score-session.ts';

const READY: Wait = {
  reason: 'it is ready: its scorers are at work on it, or it is scored next',
  dueAtMs: null,
};

/** Reason why a rule has no current row for a trace. It is computed, not stored. */
export interface ComputedLine extends TraceKey {
  /** '*' for every rule. */
  readonly rule: string;
  readonly status: 'waiting' | 'not_covered' | 'no_agent' | 'own_spans';
  readonly reason: string;
  /** Time when a waiting trace is checked next, Unix milliseconds by the store's clock. */
  readonly dueAtMs: number | null;
}

export interface Explanation {
  readonly key: TraceKey;
  /** Null when the store has no span of the trace, or only evaluation spans of spanscore. */
  readonly activity: TraceActivity | null;
  readonly decisions: readonly Decision[];
  readonly computed: readonly ComputedLine[];
  readonly scores: readonly Score[];
  /** The store's clock, Unix milliseconds. */
  readonly nowMs: number;
}

/**
 * Reads every decision of a trace and finds the reason for every rule that has none. Rules on sessions are left out: they decide on the
 * session, not on its traces. Throws `AppError` when the store cannot be read.
 */
export async function explainTrace(
  context: Scoring,
  key: TraceKey,
  rules: readonly Rule[],
): Promise<Explanation> {
  const { spans, decisions, ruleVersions, scores: scoreRows } = context.stores;
  const name = joinTraceKey(key);
  const [activities, rows, nowMs, versions, scored] = await Promise.all([
    spans.activity([key]),
    decisions.ofTraces([key]),
    spans.nowMs(),
    ruleVersions.list(),
    scoreRows.ofTraces([key]),
  ]);
  const live = liveMode(rules.map(prepareRule), buildRuleHistory(versions));
  const activity = activities.get(name) ?? null;
  const current = rows.get(name) ?? [];
  const computed =
    activity === null
      ? await listOwnSpansLine(context, key)
      : await listComputedLines(context, key, { activity, current, nowMs }, live);
  return { key, activity, decisions: current, computed, scores: scored.get(name) ?? [], nowMs };
}

/** Returns the function that builds the lines of a trace or a session. */
function lineOf<Key extends TraceKey>(key: Key) {
  return (
    rule: string,
    status: ComputedLine['status'],
    reason: string,
    dueAtMs: number | null = null,
  ): Key & ComputedLine => ({ ...key, rule, status, reason, dueAtMs });
}

const NO_AGENT = 'no agent or model span has come for this trace, so there is nothing to score';
const BEFORE_RULE = 'the trace arrived before the rule was first loaded; a backfill can score it';
const KNOWN_LATE =
  'the trace arrived before this version first ran, which added the convention of its spans; a backfill can score it';

async function listComputedLines(
  context: Scoring,
  key: TraceKey,
  {
    activity,
    current,
    nowMs,
  }: Pick<Explanation, 'nowMs'> & {
    readonly activity: TraceActivity;
    readonly current: readonly Decision[];
  },
  live: ScoringMode,
): Promise<ComputedLine[]> {
  const line = lineOf({ tenant: key.tenant, traceId: key.traceId });
  if (!activity.agentSeen) {
    return [line('*', 'no_agent', NO_AGENT)];
  }
  if (activity.knownLate === true) {
    return [line('*', 'not_covered', KNOWN_LATE)];
  }
  const names = new Set(live.rules.map((rule) => rule.name));
  const prior = current.filter((row) => names.has(row.rule));
  const candidate = { activity, claim: SOLE_CLAIMS.claim(key), prior, reread: false, nowMs };
  const { open, settled } = listOpenRules(candidate, live);
  const covered = new Set([...open.map((each) => each.rule.name), ...settled.map((rule) => rule.name)]);
  const uncovered = live.rules
    .filter((rule) => !covered.has(rule.name))
    .map((rule) => line(rule.name, 'not_covered', BEFORE_RULE));
  const isCurrent = (row: Decision) => row.evidenceUntil >= activity.lastArrivalMs;
  const undecided = open.filter((each) => !each.prior.some(isCurrent));
  const partly = open
    .flatMap((each) => (undecided.includes(each) ? [] : (describeRoomWait(each, isCurrent) ?? [])))
    .map(({ rule, reason }) => line(rule, 'waiting', reason));
  if (undecided.length === 0) {
    return [...uncovered, ...partly];
  }
  const { reachMs } = context.readiness;
  if (activity.lastArrivalMs < nowMs - reachMs && prior.every(({ status }) => status !== 'deferred')) {
    const missed = undecided.map((each) => line(each.rule.name, 'not_covered', describeReach(reachMs)));
    return [...uncovered, ...partly, ...missed];
  }
  const { reason, dueAtMs } = await readWait(context, candidate);
  const waiting = undecided.map((each) => line(each.rule.name, 'waiting', reason, dueAtMs));
  return [...uncovered, ...partly, ...waiting];
}

function describeReach(reachMs: number): string {
  const days = Math.floor(reachMs / DAY_MS);
  return `the last span came more than ${days} d ago, and live scoring looks back no further (scoring.catchUp, store.retention.spans); a backfill can score it`;
}

/** Describes the wait of a rule of which some scorers have decided on the latest spans; null when all have. */
function describeRoomWait(
  { rule, scorers, prior }: OpenRule,
  isCurrent: (row: Decision) => boolean,
): { rule: string; reason: string } | null {
  const current = prior.filter(isCurrent);
  const hasVerdict = current.some(({ scorer, status }) => scorer === WHOLE_RULE && status !== 'scored');
  const decided = new Set(current.map(({ scorer }) => scorer));
  const open = scorers.map(({ name }) => name).filter((name) => !decided.has(name));
  return hasVerdict || open.length === 0
    ? null
    : {
        rule: rule.name,
        reason: `${open.join(', ')}: at work, or waits for a place; judges and own scorers score a limited number of traces at once`,
      };
}

/** A trace that has only evaluation spans of spanscore has no activity: they are never scored. */
async function listOwnSpansLine(context: Scoring, key: TraceKey): Promise<ComputedLine[]> {
  const data = (await context.stores.spans.read([key])).get(joinTraceKey(key));
  const isOwn = data?.spans.some((span) => span.scopeName === OWN_SCOPE) ?? false;
  const reason = 'the trace holds evaluation spans of spanscore only; they are never scored';
  return isOwn ? [{ ...key, rule: '*', status: 'own_spans', reason, dueAtMs: null }] : [];
}

/** Reason why an undecided trace is not scored yet. */
interface Wait {
  readonly reason: string;
  /** Time of the next check, by the store's clock, never in the past; null for a trace that is ready. */
  readonly dueAtMs: number | null;
}

/** Finds the reason why an undecided trace waits: for spans of its own, or for other pieces of its run. Throws when the store does. */
async function readWait(context: Scoring, candidate: TraceCandidate): Promise<Wait> {
  const { spans } = context.stores;
  const data = (await spans.read([candidate.activity])).get(joinTraceKey(candidate.activity));
  const run = data === undefined ? undefined : await findRun(context, candidate, data);
  if (run !== undefined) {
    return describePieceWait(context, candidate, run);
  }
  const dueAtMs = computeWaitUntil(candidate, context.readiness);
  if (dueAtMs === null) {
    return (data && describeParentWait(context, candidate, data)) ?? READY;
  }
  const isLate = candidate.prior.length > 0;
  return {
    reason: isLate ? 'new spans came; it is waited for more of them' : 'spans may still come',
    dueAtMs,
  };
}

async function findRun(
  { stores, joining }: Scoring,
  { activity }: TraceCandidate,
  data: TraceData,
): Promise<JoinedRun | undefined> {
  if (joining === null) {
    return undefined;
  }
  const runs = await findJoinedRuns({ spans: stores.spans, ...joining }, [{ activity, data }]);
  return runs.find(({ members }) => members.some(({ traceId }) => traceId === activity.traceId));
}

/** Describes the wait of a piece: its run is scored once, when all its pieces are quiet. */
function describePieceWait({ readiness }: Scoring, candidate: TraceCandidate, run: JoinedRun): Wait {
  const lastArrivalMs = Math.max(...run.members.map((member) => member.lastArrivalMs));
  const activity = { ...candidate.activity, lastArrivalMs, rootSeen: run.finished };
  const dueAtMs = computeWaitUntil({ ...candidate, activity }, readiness);
  const others = run.members.flatMap(({ traceId }) =>
    traceId === candidate.activity.traceId ? [] : [traceId],
  );
  const piece =
    others.length === 0
      ? 'it is a piece of a run whose other pieces have not come'
      : `it is a piece of the run that is scored as trace ${run.data.traceId}, with ${others.join(', ')}`;
  return {
    reason: `${piece}; ${dueAtMs === null ? READY.reason : 'further pieces may still come'}`,
    dueAtMs,
  };
}

/** Describes the wait for a missing parent of a span: live scoring waits for it up to the maximum wait. */
function describeParentWait(
  { readiness }: Scoring,
  candidate: TraceCandidate,
  data: TraceData,
): Wait | undefined {
  const { activity, prior, nowMs } = candidate;
  const ids = new Set(data.spans.map((span) => span.spanId));
  const missing = data.spans.find((span) => span.parentSpanId !== '' && !ids.has(span.parentSpanId));
  const state = {
    rootSeen: activity.rootSeen,
    parentMissing: missing !== undefined,
    quietMs: nowMs - activity.lastArrivalMs,
    ageMs: nowMs - activity.firstArrivalMs,
  };
  if (missing === undefined || prior.length > 0 || checkReadiness(state, readiness) !== null) {
    return undefined;
  }
  return {
    reason: `span ${missing.parentSpanId}, the parent of another, has not come; it is waited for`,
    dueAtMs: activity.firstArrivalMs + readiness.maxWaitMs,
  };
}

const SCORED_ENOUGH = 'it was scored as often as readiness.session.rescores allows in 24 hours';

/** Reads every decision of a session and finds the reason for every rule that has none. Throws when the store does. */
export async function explainSession(
  stores: Pick<ScoringStores, 'sessions' | 'ruleVersions' | 'spans'>,
  activity: SessionActivity,
  { rules, settings }: { readonly rules: readonly Rule[]; readonly settings: SessionSettings },
) {
  const { tenant, sessionId, lastArrivalMs } = activity;
  const targetId = buildSessionTargetId(sessionId);
  const [decisions, scores, versions, nowMs] = await Promise.all([
    stores.sessions.decisions(tenant, [targetId]),
    stores.sessions.scores({ tenant, sessionId }),
    stores.ruleVersions.list(),
    stores.spans.nowMs(),
  ]);
  const history = buildRuleHistory(versions);
  const onSessions = rules.filter(({ target }) => target === 'session').map(prepareRule);
  const names = new Set(onSessions.map(({ name }) => name));
  const prior = decisions.filter((row) => names.has(row.rule));
  const line = lineOf({ tenant, traceId: '', targetId });
  const open = onSessions.filter(
    ({ name }) => !prior.some((row) => row.rule === name && row.evidenceUntil >= lastArrivalMs),
  );
  const dueAtMs =
    open.length === 0 ? null : await readSessionWait(stores.sessions, activity, prior, nowMs, settings);
  const isIdleBefore = (dueAtMs ?? 0) > lastArrivalMs + settings.idleMs;
  const waitReason = isIdleBefore ? SCORED_ENOUGH : 'further turns may still come';
  const computed = open.map((rule) => {
    if (history.inForce(rule, lastArrivalMs) === null) {
      return line(rule.name, 'not_covered', 'the last turn arrived before the rule was first loaded');
    }
    return dueAtMs === null
      ? line(rule.name, 'waiting', 'the session is ready: it is scored next')
      : line(rule.name, 'waiting', waitReason, dueAtMs);
  });
  return { decisions, computed, scores, nowMs };
}
