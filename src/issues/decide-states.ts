import { isDeepStrictEqual } from 'node:util';
import { DAY_MS, HOUR_MS, SECOND_MS } from '../domain/durations.ts';
import type { IssueRow, KeptState, ShareRate, Verification } from '../domain/failure.ts';
import type { Store } from '../store/store.ts';
import { type IssueNews, writeIssueAlerts } from './issue-alerts.ts';
import { readState } from './read-issues.ts';
import { BEFORE_MS, cutHours, type IssueHours, joinHours, rateHours, verifyIssue } from './verify-issue.ts';
import { computeThresholds, isBack, ShareWatch, WATCHED_MS } from './watch-share.ts';

export type StateStores = Pick<Store, 'failures' | 'alerts' | 'spans'>;

/** Terms of states, as configured. */
export interface StateTerms {
  /** False alarms of an agent in 30 days. */
  readonly falseAlarmBudget: number;
  /** Share from which a new issue is told; null: never. */
  readonly alertAbove: number | null;
}

/** Time that a look reads again: longer than the longest insert, whose rows become visible that long after their stamp. */
const OVERLAP_MS = 45 * SECOND_MS;

/** Time after which all hours are read again: rows may have been deleted. */
const WHOLE_EVERY_MS = HOUR_MS;

/** A run may begin by a clock that is a little ahead. */
const AHEAD_MS = DAY_MS;

interface Decided {
  readonly state: KeptState;
  readonly verification: Verification | null;
  /** Entry of the history; '' where nothing new is to be told. */
  readonly what: string;
  /** Share before the change. */
  readonly before?: number | null | undefined;
}

/** Decisions on the states of all issues. They are made from stored rows alone, so any process may make the next one. */
export class StateDecisions {
  readonly #store: StateStores;
  readonly #watches = new Map<string, ShareWatch>();
  #hours: IssueHours | undefined;
  #readUntilMs = 0;
  #wholeMs = 0;
  /** Start of the earliest hour that changed and that not every watch has followed: a decision may fail in the middle. */
  #unfollowedMs = Infinity;

  constructor(store: StateStores) {
    this.#store = store;
  }

  /** Decides the state of each issue, stores the states that changed, and tells the channels. */
  async decide({ falseAlarmBudget, alertAbove }: StateTerms): Promise<void> {
    const { failures, spans, alerts } = this.#store;
    const nowMs = await spans.nowMs();
    const changedMs = Math.min(this.#unfollowedMs, await this.#refresh(nowMs));
    this.#unfollowedMs = changedMs;
    const issues = await failures.issues(undefined);
    const known = new Set(issues.map(keyOf));
    [...this.#watches.keys()].filter((key) => !known.has(key)).forEach((key) => this.#watches.delete(key));
    const failingOf = Map.groupBy(this.#hours?.failing ?? [], keyOf);
    const runsOf = Map.groupBy(this.#hours?.runs ?? [], agentOf);
    const news: IssueNews[] = [];
    for (const [agent, own] of Map.groupBy(issues, agentOf)) {
      const watched = own.filter(({ state }) => state !== 'ignored');
      const look = { nowMs, changedMs, thresholds: computeThresholds(falseAlarmBudget, watched.length) };
      for (const issue of watched) {
        const ids = [issue.issueId, ...issue.aliases];
        const failing = ids.flatMap((issueId) => failingOf.get(keyOf({ ...issue, issueId })) ?? []);
        news.push(await this.#decideIssue(issue, { failing, runs: runsOf.get(agent) ?? [] }, look));
      }
    }
    this.#unfollowedMs = Infinity;
    await writeIssueAlerts(alerts, news, { alertAbove, nowMs });
  }

  /** Forgets what was read: another process may decide meanwhile. */
  forget(): void {
    this.#hours = undefined;
    this.#watches.clear();
  }

  /** Reads the hours that have changed. Returns the start of the earliest one. */
  async #refresh(nowMs: number): Promise<number> {
    const { failures } = this.#store;
    const isWhole = this.#hours === undefined || nowMs - this.#wholeMs >= WHOLE_EVERY_MS;
    const changedMs = isWhole ? 0 : await failures.firstChanged(this.#readUntilMs - OVERLAP_MS);
    if (changedMs !== null) {
      const oldestMs = nowMs - WATCHED_MS;
      const sinceMs = Math.max(oldestMs - (oldestMs % HOUR_MS), changedMs - (changedMs % HOUR_MS));
      const query = { tenant: undefined, sinceMs, untilMs: nowMs + AHEAD_MS };
      const [failing, runs] = await Promise.all([failures.failingHours(query), failures.runHours(query)]);
      const former = isWhole || this.#hours === undefined ? NO_HOURS : this.#hours;
      const isKept = ({ hourMs }: { readonly hourMs: number }) => hourMs < sinceMs && hourMs >= oldestMs;
      this.#hours = {
        failing: [...former.failing.filter(isKept), ...failing],
        runs: [...former.runs.filter(isKept), ...runs],
      };
      this.#wholeMs = isWhole ? nowMs : this.#wholeMs;
    }
    this.#readUntilMs = nowMs;
    return changedMs ?? Infinity;
  }

  async #decideIssue(issue: IssueRow, own: IssueHours, look: Look): Promise<IssueNews> {
    const { nowMs } = look;
    const { state, verification, what, before } = await this.#decideState(issue, own, look);
    const event = { at: new Date(nowMs).toISOString(), by: null, what };
    const next = {
      ...issue,
      state,
      verification,
      history: what === '' ? issue.history : [...issue.history, event],
    };
    if (!isDeepStrictEqual(next, issue)) {
      await this.#store.failures.decide(issue, next);
    }
    const share = rateHours(cutHours(own, nowMs - DAY_MS, nowMs + AHEAD_MS));
    return { issue: next, shown: readState(next, nowMs), before: before ?? null, share };
  }

  async #decideState(issue: IssueRow, own: IssueHours, look: Look): Promise<Decided> {
    const { state, history, resolvedVersion, verification } = issue;
    if (state !== 'resolved') {
      return this.#followShare(issue, own, look);
    }
    const resolvedMs = Date.parse(history.findLast(({ what }) => IS_END.test(what))?.at ?? '') || 0;
    if (resolvedVersion !== '' && (verification === null || verification.state === 'running')) {
      return describeVerification(verifyIssue(issue, own, { resolvedMs, nowMs: look.nowMs }));
    }
    return this.#findReturn(issue, own, { resolvedMs, look });
  }

  /** Tells whether an issue that was resolved came back since then, or since its version was verified. */
  async #findReturn(
    issue: IssueRow,
    own: IssueHours,
    { resolvedMs, look }: { readonly resolvedMs: number; readonly look: Look },
  ): Promise<Decided> {
    const { state, verification } = issue;
    const sinceMs = Date.parse(verification?.decidedAt ?? '') || resolvedMs;
    const same = { state, verification, what: '' };
    if (!own.failing.some(({ hourMs }) => hourMs + HOUR_MS > sinceMs)) {
      return same;
    }
    const [since, former] = await Promise.all([
      this.#readRange(issue, sinceMs, look.nowMs + AHEAD_MS),
      this.#readRange(issue, resolvedMs - BEFORE_MS, resolvedMs),
    ]);
    const before = verification?.before ?? rateHours(former);
    if (!isBack(joinHours(since), before, look.thresholds.fireAt)) {
      return same;
    }
    const what = `regressed: ${formatShare(before?.value)} → ${formatShare(rateHours(since)?.value)}`;
    return { ...same, state: 'regressed', before: before?.value, what };
  }

  /** Reads the hours of an issue between two moments, which may be within an hour. */
  async #readRange(issue: IssueRow, sinceMs: number, untilMs: number): Promise<IssueHours> {
    const { tenant, agent, issueId } = issue;
    const { failures } = this.#store;
    const query = { tenant, agent, sinceMs, untilMs };
    const [failing, runs] = await Promise.all([
      failures.failingHours({ ...query, issueId }),
      failures.runHours(query),
    ]);
    return { failing, runs };
  }

  #followShare(issue: IssueRow, own: IssueHours, look: Look): Decided {
    const { state, history, firstSeen, verification } = issue;
    const { nowMs, thresholds, changedMs } = look;
    const watch = this.#watches.get(keyOf(issue)) ?? new ShareWatch();
    this.#watches.set(keyOf(issue), watch);
    const told = history.findLast(({ what }) => what.startsWith(state));
    const isTold = state === 'escalating' || state === 'fading';
    const raised = isTold && told !== undefined ? { state, atMs: Date.parse(told.at) } : null;
    const terms = { firstSeenMs: firstSeen, nowMs, thresholds, raised };
    const found = watch.follow(joinHours(own), terms, changedMs);
    if (found.state === state || (state === 'regressed' && found.state !== 'resolved')) {
      return { state, verification, what: '' };
    }
    const shares = `${formatShare(found.before)} → ${formatShare(found.after)}`;
    return {
      state: found.state,
      verification,
      before: found.before,
      what: found.state === 'open' ? WORDS.open : `${WORDS[found.state]}: ${shares}`,
    };
  }
}

const NO_HOURS: IssueHours = { failing: [], runs: [] };

/** Words of the history for the states that a share finds. */
const WORDS = { open: 'ongoing', escalating: 'escalating', fading: 'fading', resolved: 'quiet' } as const;

function describeVerification(verification: Verification): Decided {
  const { version, state, before, since } = verification;
  const shares = `${formatShare(before?.value)} → ${formatInterval(since)}`;
  const found = { verification, before: before?.value };
  if (state === 'not-verified') {
    return { ...found, state: 'regressed', what: `regressed, not verified in ${version}: ${shares}` };
  }
  const what = state === 'verified' ? `verified in ${version}: ${shares}` : '';
  return { ...found, state: 'resolved', what };
}

interface Look {
  readonly nowMs: number;
  readonly changedMs: number;
  readonly thresholds: ReturnType<typeof computeThresholds>;
}

/** Entries of a history by which an issue was resolved. */
const IS_END = /^(?:resolve|quiet)/;

function keyOf({ tenant, issueId }: Pick<IssueRow, 'tenant' | 'issueId'>): string {
  return `${tenant} ${issueId}`;
}

function agentOf({ tenant, agent }: Pick<IssueRow, 'tenant' | 'agent'>): string {
  return `${tenant} ${agent}`;
}

function formatShare(share: number | null | undefined): string {
  return share === null || share === undefined ? 'unknown' : `${Number((100 * share).toPrecision(2))} %`;
}

function formatInterval(rate: ShareRate | null): string {
  return rate === null ? 'unknown' : `${formatShare(rate.low)} to ${formatShare(rate.high)} (95 %)`;
}
