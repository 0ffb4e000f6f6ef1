import { WHOLE_RULE, type Decision } from '../domain/decision.ts';
import { buildSessionTargetId } from '../domain/session-target.ts';
import { SOLE_CLAIMS } from '../ownership/ownership.ts';
import type { SweepSettings } from '../readiness/readiness.ts';
import type { Scoring } from '../scoring/scoring.ts';
import type { ScoringMode } from '../scoring/scoring-mode.ts';
import { buildRuleHistory, type PreparedRule, type Where, type RuleHistory } from '../scoring/select/rule.ts';
import { computeWaitUntil, listOpenRules } from '../scoring/select/select-rules.ts';
import type { TraceCandidate } from '../scoring/trace-task.ts';
import { readFacts, selectTrace, type Selected } from '../scoring/select/select-traces.ts';
import { isMetUnread, listAttributeKeys, needsFactsFor } from '../scoring/select/where.ts';
import {
  filterSessions,
  selectSessions as selectSessionRules,
  sessionMode,
} from '../scoring/sessions/select-sessions.ts';
import {
  computeSessionReach,
  computeSessionWait,
  type SessionSettings,
} from '../scoring/sessions/score-session.ts';
import { readStoreClock } from '../scoring/live/timers.ts';
import type { EndedSession, SessionKey, SessionPlace } from '../store/contracts/lists.ts';
import { joinTraceKey, type TraceActivity, type TraceFacts } from '../store/contracts/stores.ts';
import type { TargetKey } from './targets.ts';

/** Most sessions of one page. */
export const SESSION_PAGE = 200;

/** Time after the store's clock up to which arrivals are read, milliseconds: the clocks of replicas differ. */
const AHEAD_MS = 3_600_000;

/** Traces and sessions of a job. Times are Unix milliseconds. */
export interface JobRange {
  /** Earliest start of a trace. */
  readonly fromMs: number;
  /** End of the range, exclusive. */
  readonly toMs: number;
  /** Absent: every tenant. */
  readonly tenant?: string | undefined;
  /** Conditions on the traces, and on the sessions, beside those of the rules. Absent: all. */
  readonly where?: Where | undefined;
}

/** Place and size of a page. */
export interface Listing {
  /**
   * Only traces that start, or sessions whose last turn starts, after this time: Unix nanoseconds for traces and milliseconds for sessions,
   * as decimal text; null: from the start.
   */
  readonly after: string | null;
  /** Most targets of a page; at most `MAX_KEYS` traces. */
  readonly limit: number;
  /** Traces that are listed at once, for several pages: a table without an order by time is searched less often. Default: a page. */
  readonly listedAtOnce?: number;
}

/** Times of the targets of a page, in the unit of its list. */
export interface PageTimes {
  readonly first: bigint;
  readonly last: bigint;
}

/** Targets of a range that meet its conditions. */
interface ListedPage<Key> {
  readonly targets: readonly Key[];
  /** Number of traces that were listed, with those that are left out; 0 for sessions. */
  readonly listed: number;
  readonly times: PageTimes;
}

/** Targets of one page of a backfill. */
export interface SelectedPage<Key = TargetKey> extends Pick<ListedPage<Key>, 'listed' | 'times'> {
  /** Targets to score now. */
  readonly taken: readonly Key[];
  /** Targets of `taken` without a decision of this backfill. */
  readonly fresh: ReadonlySet<Key>;
  /** Number of targets that an earlier run of this backfill has decided. */
  readonly decided: number;
  /** Decisions of this backfill on those targets. */
  readonly decisions: readonly Decision[];
  /** Number of targets that may still get spans. */
  readonly arriving: number;
  /** Number of targets that a live rule has yet to decide with a scorer of this backfill. */
  readonly owed: number;
}

export interface Selecting {
  readonly readiness: SweepSettings;
  readonly sessions: SessionSettings;
  readonly mode: ScoringMode;
  readonly live: Live;
}

/** Live scoring: its rules, and the times that each of them covers. */
interface Live {
  readonly rules: readonly PreparedRule[];
  readonly history: RuleHistory;
}

type Stores = Scoring['stores'];

/** Starts a selection: reads since when each live rule is in force. */
export async function startSelection(
  {
    scoring,
    liveRules,
    sessions,
  }: {
    readonly scoring: Scoring;
    readonly liveRules: readonly PreparedRule[];
    readonly sessions: SessionSettings;
  },
  mode: ScoringMode,
): Promise<Selecting> {
  const history = buildRuleHistory(await scoring.stores.ruleVersions.list());
  return { mode, live: { rules: liveRules, history }, readiness: scoring.readiness, sessions };
}

export function countTargets({ taken, decided, arriving, owed }: SelectedPage): number {
  return taken.length + decided + arriving + owed;
}

/**
 * Selects the traces of a backfill, page by page. With rules on sessions, a trace that no process has read is selected, so that its
 * session is known. Throws `AppError` when the store cannot be read.
 */
export async function* selectTraces(
  stores: Stores,
  range: JobRange,
  selecting: Selecting,
  listing: Listing,
): AsyncGenerator<SelectedPage<TraceActivity>> {
  const begunMs = await stores.spans.nowMs();
  const { readiness, mode } = selecting;
  const incomplete = await readIncomplete(stores, readiness.maxWaitMs, range, begunMs);
  for await (const { targets, listed, times } of listTraces(stores, range, listing)) {
    const rows = await stores.decisions.ofTraces(targets);
    const readUntil = mode.sessionRules.length === 0 ? null : await stores.runs.readUntil(targets);
    const nowMs = await stores.spans.nowMs();
    const placed = targets.map((activity) => {
      const name = joinTraceKey(activity);
      const missesParent = activity.rootSeen && incomplete.has(name);
      const isArriving = activity.firstArrivalMs > begunMs || missesParent;
      const isUnread = readUntil !== null && (readUntil.get(name) ?? -1) < activity.lastArrivalMs;
      const decisions = rows.get(name) ?? [];
      return placeTrace({ key: activity, decisions, nowMs }, { isArriving, isUnread }, selecting);
    });
    yield { ...collectTargets(placed), listed, times };
  }
}

/**
 * Selects the sessions of a backfill whose last turn lies in its range and that meet its conditions, page by page. A session is known by
 * the runs that were read. Throws `AppError` when the store cannot be read.
 */
export async function* selectSessions(
  stores: Stores,
  range: JobRange,
  selecting: Selecting,
  listing: Listing,
): AsyncGenerator<SelectedPage<SessionKey>> {
  if (selecting.mode.sessionRules.length === 0) {
    return;
  }
  for await (const { targets, listed, times } of listSessions(stores, range, listing)) {
    const nowMs = await stores.spans.nowMs();
    const placed: PlacedTarget<SessionKey>[] = [];
    for (const [tenant, sessions] of Map.groupBy(targets, (session) => session.tenant)) {
      const ids = sessions.map(({ sessionId }) => buildSessionTargetId(sessionId));
      const rows = Map.groupBy(await stores.sessions.decisions(tenant, ids), (row) => row.targetId);
      for (const key of sessions) {
        const decisions = rows.get(buildSessionTargetId(key.sessionId)) ?? [];
        placed.push(placeSession({ key, decisions, nowMs }, selecting));
      }
    }
    yield { ...collectTargets(placed), listed, times };
  }
}

/** Lists the traces of agents or models that meet the conditions of the range, page by page. */
export async function* listTraces(
  { spans }: Pick<Stores, 'spans'>,
  { fromMs, toMs, tenant, where }: JobRange,
  { after: first, limit, listedAtOnce = limit }: Listing,
): AsyncGenerator<ListedPage<TraceActivity>> {
  // The place in the list before every trace of a time.
  let after = first === null ? undefined : { tenant: '', traceId: '', startUnixNano: BigInt(first) + 1n };
  for (;;) {
    const listed = await spans.list({
      fromMs,
      toMs,
      limit: listedAtOnce,
      ...(tenant === undefined ? {} : { tenant }),
      ...(after === undefined ? {} : { after }),
    });
    if (listed.length === 0) {
      return;
    }
    for (let start = 0; start < listed.length; start += limit) {
      const page = listed.slice(start, start + limit);
      const [earliest, last] = [page[0], page.at(-1)];
      if (earliest !== undefined && last !== undefined) {
        after = { tenant: last.tenant, traceId: last.traceId, startUnixNano: last.firstStartUnixNano };
        const times = { first: earliest.firstStartUnixNano, last: last.firstStartUnixNano };
        const ofAgents = page.filter((trace) => trace.agentSeen);
        const targets = where === undefined ? ofAgents : await filterTraces({ spans }, ofAgents, where);
        yield { targets, listed: page.length, times };
      }
    }
  }
}

/** Lists the sessions whose last turn lies in a range and that meet its conditions, page by page. */
export async function* listSessions(
  stores: Pick<Stores, 'sessions' | 'spans'>,
  { tenant, fromMs, toMs, where }: JobRange,
  { after: first, limit }: Listing,
): AsyncGenerator<ListedPage<EndedSession>> {
  let after: SessionPlace | undefined =
    first === null ? undefined : { tenant: '', sessionId: '', lastTurnMs: Number(first) + 1 };
  for (;;) {
    const listed = await stores.sessions.list({ tenant, fromMs, toMs, after, limit });
    const [earliest, last] = [listed[0], listed.at(-1)];
    if (earliest === undefined || last === undefined) {
      return;
    }
    after = last;
    const targets = where === undefined ? listed : await filterSessions(stores, listed, where);
    const times = { first: BigInt(earliest.lastTurnMs), last: BigInt(last.lastTurnMs) };
    yield { targets, listed: 0, times };
  }
}

/** Leaves out traces that do not meet the conditions, or whose facts do not say so. */
async function filterTraces(
  { spans }: Pick<Stores, 'spans'>,
  traces: readonly TraceActivity[],
  where: Where,
): Promise<readonly TraceActivity[]> {
  const facts = needsFactsFor(where)
    ? await spans.facts(traces, listAttributeKeys(where), { feedback: false })
    : new Map<string, TraceFacts>();
  return traces.filter((activity) =>
    isMetUnread(where, { activity, facts: facts.get(joinTraceKey(activity)) }),
  );
}

/**
 * Finds young traces whose spans name a parent that has not come. Live scoring waits for such a parent up to the maximum wait,
 * and the activity of a trace does not show it. Returns the joined keys of the traces.
 */
async function readIncomplete(
  { spans }: Pick<Stores, 'spans'>,
  maxWaitMs: number,
  { toMs }: JobRange,
  nowMs: number,
): Promise<Set<string>> {
  const sinceMs = nowMs - maxWaitMs;
  const young = toMs <= sinceMs ? [] : await spans.arrivals(sinceMs, nowMs + AHEAD_MS);
  const incomplete = young.filter(({ spanIds, parentIds }) => {
    const ids = new Set(spanIds);
    return parentIds.some((id) => !ids.has(id));
  });
  return new Set(incomplete.map(joinTraceKey));
}

/** A target with its place in the selection: taken, decided by an earlier run, or left to live scoring. */
type PlacedTarget<Key> =
  | { readonly place: 'arriving' | 'owed' }
  | { readonly place: 'decided'; readonly prior: readonly Decision[] }
  | { readonly place: 'taken'; readonly key: Key; readonly isFresh: boolean };

function collectTargets<Key>(
  placed: readonly PlacedTarget<Key>[],
): Omit<SelectedPage<Key>, 'listed' | 'times'> {
  const taken = placed.filter((each) => each.place === 'taken');
  const decided = placed.filter((each) => each.place === 'decided');
  return {
    taken: taken.map(({ key }) => key),
    fresh: new Set(taken.filter(({ isFresh }) => isFresh).map(({ key }) => key)),
    decided: decided.length,
    decisions: decided.flatMap(({ prior }) => prior),
    arriving: placed.filter(({ place }) => place === 'arriving').length,
    owed: placed.filter(({ place }) => place === 'owed').length,
  };
}

interface KnownTarget<Key> {
  readonly key: Key;
  readonly decisions: readonly Decision[];
  readonly nowMs: number;
}

/**
 * @param state.isArriving true for a trace that may miss a parent
 * @param state.isUnread true when a rule on sessions needs the content, and no process has read it
 */
function placeTrace(
  trace: KnownTarget<TraceActivity>,
  { isArriving, isUnread }: { readonly isArriving: boolean; readonly isUnread: boolean },
  { readiness, mode, live }: Selecting,
): PlacedTarget<TraceActivity> {
  const { key: activity, decisions, nowMs } = trace;
  const prior = filterRows(decisions, mode.rules);
  const claim = SOLE_CLAIMS.claim(activity);
  const candidate: TraceCandidate = { activity, claim, prior, reread: false, nowMs };
  const isYoung = nowMs - activity.firstArrivalMs < readiness.maxWaitMs;
  if ((isYoung && isArriving) || computeWaitUntil(candidate, readiness) !== null) {
    return { place: 'arriving' };
  }
  // Live scoring never decides a trace that arrived before the store knew the convention of its spans.
  const isReached = activity.knownLate !== true && activity.lastArrivalMs >= nowMs - readiness.reachMs;
  const liveRules = live.rules.filter(({ target }) => target !== 'session');
  if (isReached && isOwed(trace, mode.rules, { ...live, rules: liveRules }, activity.firstArrivalMs)) {
    return { place: 'owed' };
  }
  return !isUnread && listOpenRules(candidate, mode).open.length === 0
    ? { place: 'decided', prior }
    : { place: 'taken', key: activity, isFresh: prior.length === 0 };
}

function placeSession(
  session: KnownTarget<EndedSession>,
  { mode, live, readiness, sessions: settings }: Selecting,
): PlacedTarget<SessionKey> {
  const { key, decisions, nowMs } = session;
  const { tenant, sessionId, lastArrivalMs } = key;
  const prior = filterRows(decisions, mode.sessionRules);
  if (computeSessionWait(key, prior, nowMs, settings) !== null) {
    return { place: 'arriving' };
  }
  const isReached = lastArrivalMs >= nowMs - computeSessionReach(settings, readiness.reachMs);
  const liveRules = live.rules.filter(({ target }) => target === 'session');
  if (isReached && isOwed(session, mode.sessionRules, { ...live, rules: liveRules }, lastArrivalMs)) {
    return { place: 'owed' };
  }
  const isAllDecided = mode.sessionRules.every((rule) =>
    rule.scorers.every(({ name }) => isDecided(filterRows(prior, [rule]), name, lastArrivalMs)),
  );
  return mode.redo === null && isAllDecided
    ? { place: 'decided', prior }
    : { place: 'taken', key: { tenant, sessionId }, isFresh: prior.length === 0 };
}

function filterRows(rows: readonly Decision[], rules: readonly PreparedRule[]): Decision[] {
  const names = new Set(rules.map(({ name }) => name));
  return rows.filter(({ rule }) => names.has(rule));
}

/**
 * Returns true when a live rule has yet to decide the target with a scorer of the backfill: both would ask the judge the same question.
 * @param coveredAtMs arrival that decides which version of a live rule covers the target
 */
function isOwed(
  { key, decisions }: KnownTarget<{ readonly lastArrivalMs: number }>,
  rules: readonly PreparedRule[],
  live: Live,
  coveredAtMs: number,
): boolean {
  const ours = new Set(rules.flatMap(({ scorers }) => scorers.map(({ name }) => name)));
  return live.rules.some((rule) => {
    const inForce = live.history.inForce(rule, coveredAtMs);
    const rows = filterRows(decisions, [rule]);
    return (
      inForce !== null &&
      rule.scorers.some(
        ({ name }) =>
          ours.has(name) && inForce.scorers.has(name) && !isDecided(rows, name, key.lastArrivalMs),
      )
    );
  });
}

/** Returns true when the rows of a scorer, or the verdict on its whole rule, are final and have seen the latest arrival. */
function isDecided(rows: readonly Decision[], scorer: string, lastArrivalMs: number): boolean {
  const scorerRows = rows.filter((row) => row.scorer === scorer);
  const verdicts = rows.filter((row) => row.scorer === WHOLE_RULE && row.status !== 'scored');
  const decidingRows = scorerRows.length > 0 ? scorerRows : verdicts;
  return (
    decidingRows.length > 0 &&
    decidingRows.every((row) => row.status !== 'deferred' && row.evidenceUntil >= lastArrivalMs)
  );
}

/** Target whose rules are selected, before its content is read. */
export interface LookedTarget<Key = TargetKey> extends Pick<Selected, 'rules' | 'declined' | 'existing'> {
  readonly key: Key;
  /** Last arrival, Unix milliseconds. */
  readonly lastArrivalMs: number;
  /** True for a target that live scoring waits for. */
  readonly isArriving: boolean;
}

/** Selects the rules of traces as scoring does before it reads their content. At most `MAX_KEYS` traces. Throws what the store throws. */
export async function lookAtTraces(
  scoring: Scoring,
  mode: ScoringMode,
  traces: readonly TraceActivity[],
): Promise<LookedTarget[]> {
  const { stores } = scoring;
  const clock = await readStoreClock(stores.spans, scoring.monotonicMs);
  const [decisions, scores] = await Promise.all([
    stores.decisions.ofTraces(traces),
    stores.scores.ofTraces(traces),
  ]);
  const candidates = traces.map((activity) => ({
    activity,
    claim: SOLE_CLAIMS.claim(activity),
    prior: filterRows(decisions.get(joinTraceKey(activity)) ?? [], mode.rules),
    reread: false,
    nowMs: clock.nowMs(),
  }));
  const allFacts = await readFacts(scoring, candidates, mode);
  return candidates.map((candidate) => {
    const name = joinTraceKey(candidate.activity);
    const [facts, existing] = [allFacts.get(name), scores.get(name) ?? []];
    const lookups = { facts, existing, existingReadMs: scoring.monotonicMs(), knownRuns: [], clock };
    const { key, rules, declined } = selectTrace(candidate, lookups, mode);
    const isArriving = computeWaitUntil(candidate, scoring.readiness) !== null;
    return { key, rules, declined, existing, lastArrivalMs: candidate.activity.lastArrivalMs, isArriving };
  });
}

/** Selects the rules of sessions in the same way, as if the rules had never decided them. Stored scores are not read. */
export async function lookAtSessions(
  scoring: Scoring,
  mode: ScoringMode,
  sessions: readonly EndedSession[],
  settings: SessionSettings,
): Promise<LookedTarget[]> {
  const clock = await readStoreClock(scoring.stores.spans, scoring.monotonicMs);
  const ready = sessions.map((activity) => {
    const { tenant, sessionId } = activity;
    const claim = SOLE_CLAIMS.claim({ tenant, traceId: buildSessionTargetId(sessionId) });
    return { activity, claim, prior: [], clock };
  });
  return (await selectSessionRules(scoring, ready, sessionMode(mode))).map(({ of, selected }) => {
    const { tenant, sessionId, lastArrivalMs } = of.activity;
    const isArriving = computeSessionWait(of.activity, [], clock.nowMs(), settings) !== null;
    return { ...selected, key: { tenant, sessionId }, lastArrivalMs, isArriving };
  });
}
