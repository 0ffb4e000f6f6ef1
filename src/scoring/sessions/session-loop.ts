import { systemTimers, type Timers } from '../../domain/waits.ts';
import { createStoreClock, waitWithin } from '../live/timers.ts';
import PQueue from 'p-queue';
import { readErrorMessage } from '../../domain/errors.ts';
import { LruMap } from '../../domain/lru-map.ts';
import { joinPair, type Ownership } from '../../ownership/ownership.ts';
import {
  AHEAD_MS,
  OVERLAP_MS,
  SWEEP_BACK_MS,
  SWEEP_EVERY_MS,
  SweepRange,
} from '../../readiness/readiness.ts';
import { buildSessionTargetId } from '../../domain/session-target.ts';
import { joinSessionKey, type SessionKey, type UndecidedSession } from '../../store/contracts/lists.ts';
import { joinTraceKey, type TraceKey } from '../../store/contracts/stores.ts';
import { computeBackoffMs } from '../attempt/attempt-failure.ts';
import { CatchUp, DUE_EVERY_MS, takeOwn } from '../live/retries.ts';
import type { Scoring } from '../scoring.ts';
import { liveMode, type ScoringMode } from '../scoring-mode.ts';
import {
  continueHistory,
  prepareRule,
  recordRules,
  type FormerRules,
  type PreparedRule,
  type Rule,
  type RuleHistory,
} from '../select/rule.ts';
import { buildOutcome } from '../trace-task.ts';
import { scoreSession, computeSessionReach, type SessionSettings } from './score-session.ts';
import { SESSIONS_AT_ONCE, findSessionKeys } from './select-sessions.ts';

/** Most decisions of one read. */
const DUE_LIMIT = 1_000;

/** Shortest and longest time between two searches for sessions, milliseconds. Between them it is a tenth of the idle time. */
const MIN_SEARCH_MS = 1_000;
const MAX_SEARCH_MS = 30_000;

/** Most sessions of one search. The next search finds the others. */
const SEARCH_LIMIT = 5_000;

/** Most sessions that wait in memory for their time. The sweep finds the others. */
const MAX_WAITING = 50_000;

/** Time that a stop waits for sessions under way before it aborts them, and then for their end, milliseconds. */
const STOP_GRACE_MS = 10_000;
const ABANDON_MS = 2_000;

export interface SessionLoopOptions {
  /** All rules of this process; those on sessions count. */
  readonly rules: readonly Rule[];
  /** Ownership of the scoring loop, which beats. */
  readonly ownership: Ownership;
  readonly settings: SessionSettings;
  readonly timers?: Timers;
  readonly stopGraceMs?: number;
}

/** Scoring of sessions, and its mode. */
interface SessionWork {
  readonly scoring: Scoring;
  readonly mode: ScoringMode;
}

/**
 * Live scoring of sessions: searches the runs for sessions that are idle or old enough and undecided. A search looks back over
 * the idle time; a sweep at the start, every 10 minutes and after a change of the processes finds what a search missed.
 * Without a rule on sessions, it only ends the decisions of removed rules.
 */
export class SessionLoop {
  #scoring: Scoring;
  #rules: readonly PreparedRule[];
  readonly #options: SessionLoopOptions;
  readonly #timers: Timers;
  readonly #stopping = new AbortController();
  readonly #abandoning = new AbortController();
  readonly #queue = new PQueue({ concurrency: SESSIONS_AT_ONCE });
  readonly #underWay = new Map<string, Promise<void>>();
  /** The search under way, or the last one. */
  #searching: Promise<void> = Promise.resolve();
  /** Time before which a session is not looked at again, by the store's clock. */
  readonly #notBefore = new Map<string, number>();
  readonly #failures = new Map<string, number>();
  /** Rows of turns before the last scoring of a session: newer ones are late turns. One that is forgotten is looked at once more. */
  readonly #seenTurns = new LruMap<string>({ maxSize: MAX_WAITING }, () => 1);
  #catchUp: CatchUp;
  readonly #running: Promise<void>;
  readonly #sweepRange: SweepRange;
  #history: RuleHistory | null = null;
  /** Rules of before. Absent before the first change. */
  #former: FormerRules | undefined;
  /** Time from which the present rules are in force, by the store's clock. */
  #fromMs = Number.NEGATIVE_INFINITY;
  /** Ends when no rules are being stored: a turn that comes meanwhile belongs to the next ones. */
  #revising: Promise<unknown> = Promise.resolve();
  #waking = new AbortController();
  #sweepDueMs = 0;
  #generation = -1;
  #hasFault = false;

  constructor(scoring: Scoring, options: SessionLoopOptions) {
    this.#options = options;
    [this.#scoring, this.#rules, this.#catchUp] = this.#createParts(scoring, options.rules);
    const { settings } = options;
    this.#sweepRange = new SweepRange(
      computeSessionReach(settings, scoring.readiness.reachMs),
      computeSessionReach(settings, SWEEP_BACK_MS),
    );
    this.#timers = options.timers ?? systemTimers;
    this.#running = this.#run();
  }

  #createParts(scoring: Scoring, all: readonly Rule[]): [Scoring, readonly PreparedRule[], CatchUp] {
    const { ownership } = this.#options;
    const rules = all.filter(({ target }) => target === 'session').map(prepareRule);
    const owned = { ...scoring, claims: ownership, signal: this.#abandoning.signal };
    return [owned, rules, new CatchUp(owned, { rules, ownership, ofSessions: true })];
  }

  /**
   * Puts other rules in force for the sessions that are taken from now on. Turns that arrived before keep the former rules. Sessions
   * under way end under those. Throws, and changes nothing, when `begun` does.
   * @param begun resolves with the time from which the rules are in force, when they are stored; until then no session is taken
   */
  revise(scoring: Scoring, rules: readonly Rule[], begun: Promise<number>): Promise<void> {
    const revised = begun.then((fromMs) => this.#putInForce(scoring, rules, fromMs));
    this.#revising = revised.catch(() => undefined);
    return revised;
  }

  #putInForce(scoring: Scoring, rules: readonly Rule[], fromMs: number): void {
    if (this.#history !== null) {
      this.#former = { rules: this.#rules, history: this.#history, untilMs: fromMs };
    }
    this.#fromMs = fromMs;
    [this.#scoring, this.#rules, this.#catchUp] = this.#createParts(scoring, rules);
    this.#history = null;
    this.#sweepRange.restart();
    this.#waking.abort();
  }

  /** Resolves when the sessions that are under way now, and the sessions that the present search takes, have ended. */
  async whenIdle(): Promise<void> {
    await this.#searching.catch(() => undefined);
    await Promise.all(this.#underWay.values());
  }

  /** Waits for sessions under way up to the grace time, then aborts them: the next process scores them. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#queue.clear();
    const work = Promise.all([this.#running, this.#queue.onIdle()]);
    await waitWithin(this.#timers, this.#options.stopGraceMs ?? STOP_GRACE_MS, work);
    this.#abandoning.abort();
    await waitWithin(this.#timers, ABANDON_MS, work);
  }

  async #run(): Promise<void> {
    const { idleMs } = this.#options.settings;
    const searchMs = Math.min(MAX_SEARCH_MS, Math.max(MIN_SEARCH_MS, idleMs / 10));
    while (!this.#stopping.signal.aborted) {
      this.#waking = new AbortController();
      const everyMs = this.#rules.length === 0 ? DUE_EVERY_MS : searchMs;
      try {
        this.#searching = this.#search(everyMs);
        await this.#searching;
        this.#hasFault = false;
      } catch (error) {
        if (!this.#hasFault && !this.#stopping.signal.aborted) {
          this.#scoring.log.warn('scoring of sessions waits for the store', {
            error: readErrorMessage(error),
          });
        }
        this.#hasFault = true;
        // After an outage of the store, the oldest undecided session is not known.
        this.#sweepRange.restart();
        this.#sweepDueMs = 0;
      }
      await this.#timers.sleep(everyMs, AbortSignal.any([this.#stopping.signal, this.#waking.signal]));
    }
  }

  async #search(everyMs: number): Promise<void> {
    await this.#revising;
    const { stores } = this.#scoring;
    const { ownership } = this.#options;
    if (ownership.generation() !== this.#generation) {
      this.#generation = ownership.generation();
      this.#sweepDueMs = 0;
      this.#sweepRange.restart();
      this.#notBefore.clear();
      this.#catchUp.restart();
    }
    const nowMs = await stores.spans.nowMs();
    const work = this.#rules.length === 0 ? null : await this.#searchRuns(nowMs, everyMs);
    const due = await findDueSessions(this.#scoring, ownership, nowMs);
    due
      .filter((session) => nowMs >= this.#notBeforeMs(session))
      .forEach((session) => this.#take(session, work));
    await this.#takeHeldBack(nowMs, work);
  }

  /** Takes the next sessions that a budget held back, in the order of the catch-up. */
  async #takeHeldBack(nowMs: number, work: SessionWork | null): Promise<void> {
    const { stores, monotonicMs } = this.#scoring;
    await this.#catchUp.tick(createStoreClock(nowMs, monotonicMs));
    const taken = this.#catchUp.take(nowMs);
    const targets = taken.map(({ tenant, traceId }) => ({ tenant, targetId: traceId }));
    const found = await findSessionKeys(stores.sessions, targets);
    for (const key of taken) {
      const session = found.get(joinTraceKey(key));
      if (session === undefined || !this.#take(session, work)) {
        this.#catchUp.done(buildOutcome(key));
      }
    }
  }

  /** Takes the sessions that are ready. Returns their scoring. */
  async #searchRuns(nowMs: number, everyMs: number): Promise<SessionWork> {
    const scoring = this.#scoring;
    const rules = this.#rules;
    const { stores, monotonicMs } = scoring;
    const { ownership, settings } = this.#options;
    const isSweep = this.#history === null || monotonicMs() >= this.#sweepDueMs;
    const history = isSweep || this.#history === null ? await this.#recordRules(rules, nowMs) : this.#history;
    this.#history = rules === this.#rules ? history : null;
    const sinceMs = isSweep
      ? this.#sweepRange.sinceMs(nowMs)
      : nowMs - settings.idleMs - 2 * everyMs - OVERLAP_MS;
    const work = { scoring, mode: liveMode(rules, this.#endWith(rules, history)) };
    for (const { pairs, shards } of ownership.shares()) {
      const covered = history.coverage(rules);
      const found = await stores.sessions.undecided({
        sinceMs,
        pairs: covered.filter(({ rule, scorer }) => pairs.includes(joinPair(rule, scorer))),
        shards,
        limit: SEARCH_LIMIT,
      });
      if (isSweep) {
        found.forEach(({ lastArrivalMs }) => this.#sweepRange.note(lastArrivalMs));
      }
      found
        .filter((session) => this.#mayBeReady(session, nowMs))
        .forEach((session) => this.#take(session, work));
    }
    if (isSweep) {
      this.#sweepRange.end();
      // Until the hold ends, nothing that is found is taken.
      this.#sweepDueMs = monotonicMs() + (ownership.holdMs(false) || SWEEP_EVERY_MS);
    }
    return work;
  }

  /** Ends a history when other rules are in force: a session that waits for its place may get turns after that. */
  #endWith(rules: readonly PreparedRule[], history: RuleHistory): RuleHistory {
    const hasEnded = (atMs: number) => rules !== this.#rules && atMs >= this.#fromMs;
    return { ...history, inForce: (rule, atMs) => (hasEnded(atMs) ? null : history.inForce(rule, atMs)) };
  }

  async #recordRules(rules: readonly PreparedRule[], nowMs: number): Promise<RuleHistory> {
    // After the store's clock went back, the end of the former rules lies ahead: the history begins anew.
    const isAhead = (this.#former?.untilMs ?? 0) > nowMs + AHEAD_MS;
    this.#former = isAhead ? undefined : this.#former;
    const former = this.#former;
    const recorded = await recordRules(this.#scoring.stores.ruleVersions, rules, nowMs);
    return former === undefined ? recorded : continueHistory(former, recorded);
  }

  #mayBeReady(session: UndecidedSession, nowMs: number): boolean {
    const { idleMs, maxAgeMs } = this.#options.settings;
    const { firstArrivalMs, lastArrivalMs, lastWrittenMs, isLate } = session;
    if (isLate && this.#seenTurns.get(joinSessionKey(session)) === formatTurns(session)) {
      return false;
    }
    const lastMs = isLate ? lastWrittenMs : lastArrivalMs;
    // A turn ahead of the store's clock came before the clock went back.
    const isAhead = lastMs > nowMs + AHEAD_MS;
    const readyMs = isAhead ? nowMs : Math.min(lastMs + idleMs, firstArrivalMs + maxAgeMs);
    return nowMs >= Math.max(readyMs, this.#notBeforeMs(session));
  }

  #notBeforeMs(session: SessionKey): number {
    return this.#notBefore.get(joinSessionKey(session)) ?? 0;
  }

  /** Returns false for a session that is not taken now. */
  #take(key: SessionKey | UndecidedSession, work: SessionWork | null): boolean {
    const name = joinSessionKey(key);
    const { ownership } = this.#options;
    const isOurs = ownership.claim(readClaimKey(key)) !== null && ownership.holdMs(false) === 0;
    if (work === null || !isOurs || this.#underWay.has(name) || this.#stopping.signal.aborted) {
      return false;
    }
    const scored = this.#queue.add(() =>
      this.#score(key, name, work).finally(() => this.#underWay.delete(name)),
    );
    this.#underWay.set(name, scored);
    return true;
  }

  async #score(
    key: SessionKey | UndecidedSession,
    name: string,
    { scoring, mode }: SessionWork,
  ): Promise<void> {
    await this.#revising;
    if (this.#stopping.signal.aborted) {
      return;
    }
    const outcome = await scoreSession(scoring, key, mode, this.#options.settings);
    this.#catchUp.done({ ...outcome, key: readClaimKey(key) });
    if (outcome.error === null) {
      this.#failures.delete(name);
      this.#wait(name, outcome.waitUntilMs);
      if ('isLate' in key && outcome.waitUntilMs === null) {
        this.#seenTurns.set(name, formatTurns(key));
      }
      return;
    }
    if (outcome.error.code !== 'cancelled') {
      const { message, retryAfterMs } = outcome.error;
      const attempts = (this.#failures.get(name) ?? 0) + 1;
      if (this.#failures.size < MAX_WAITING) {
        this.#failures.set(name, attempts);
      }
      const waitMs = computeBackoffMs(attempts, retryAfterMs, this.#scoring.random());
      const nowMs = await this.#scoring.stores.spans.nowMs().catch(() => 0);
      this.#wait(name, nowMs + waitMs);
      this.#scoring.log.warn('a session could not be scored, it is tried again', {
        sessionId: key.sessionId,
        error: message,
      });
    }
  }

  #wait(name: string, untilMs: number | null): void {
    this.#notBefore.delete(name);
    if (untilMs !== null && this.#notBefore.size < MAX_WAITING) {
      this.#notBefore.set(name, untilMs);
    }
  }
}

/** Formats what a search saw of the rows of turns: their number, too, as a row may become visible after a newer one. */
function formatTurns({ lastWrittenMs, turns }: UndecidedSession): string {
  return `${lastWrittenMs}/${turns}`;
}

/** Returns the key by which a session is claimed and caught up: the id of its target stands in the place of a trace id. */
function readClaimKey({ tenant, sessionId }: SessionKey): TraceKey {
  return { tenant, traceId: buildSessionTargetId(sessionId) };
}

/** Finds the sessions of which a deferred decision is to be tried again now, without those that a budget holds back. Throws when the store does. */
async function findDueSessions(scoring: Scoring, ownership: Ownership, nowMs: number): Promise<SessionKey[]> {
  const { decisions, sessions } = scoring.stores;
  const query = { untilMs: nowMs, shards: ownership.shards(), limit: DUE_LIMIT, ofSessions: true };
  const { own } = await takeOwn(scoring, ownership, await decisions.due(query), nowMs);
  return [...(await findSessionKeys(sessions, own)).values()];
}
