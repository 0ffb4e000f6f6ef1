import { allSettled } from '../../domain/waits.ts';
import { joinPair, type Ownership } from '../../ownership/ownership.ts';
import { type CoveredPair, joinTraceKey } from '../../store/contracts/stores.ts';
import { scoreTraces } from '../score-traces.ts';
import type { Scoring } from '../scoring.ts';
import { liveMode } from '../scoring-mode.ts';
import {
  continueHistory,
  cutPeriods,
  joinPeriodsOfPairs,
  prepareRule,
  recordRules,
  type PreparedRule,
  type Rule,
  type RuleHistory,
} from '../select/rule.ts';
import type { TraceOutcome } from '../trace-task.ts';
import type { SlotAdmission, WorkItem } from './queue.ts';

/** Most revisions whose rules are remembered for the traces from before. */
const MAX_CONTINUED = 100;

/** Shortest life of a former revision, milliseconds: an insert from before it may become visible within this time. */
const LEAST_LIFE_MS = 10_000;

/** Time beyond the longest wait of a trace after which a former revision waits for no late span and no retry any more, milliseconds. */
const RETIRE_MS = 60_000;

/** Rules, and the scoring by them, for the traces that arrived first while they were in force. */
interface LiveRevision {
  readonly scoring: Scoring;
  readonly rules: readonly PreparedRule[];
  /** Begin by the store's clock, Unix milliseconds. */
  fromMs: number;
  /** Null before the rules are stored. */
  history: RuleHistory | null;
  /** Batches under way. */
  running: number;
  /** Set when another revision is in force: since when, by the monotonic clock. */
  retiring: { readonly sinceMs: number; readonly onRetired: () => void } | null;
}

interface RevisionsDeps {
  readonly ownership: Ownership;
  readonly admission: SlotAdmission;
  /** Aborts judge calls: the traces under way stay undecided. */
  readonly signal: AbortSignal;
}

/** Traces of this process that are not decided yet. */
interface LeftTraces {
  /** Returns true when a trace from before a time is ready, or is being scored. */
  isQueued(beforeMs: number): boolean;
  /** Returns true when a trace from before a time may get spans, or waits for a retry. */
  isWaiting(beforeMs: number): boolean;
  /** Begin of the last sweep that found all traces, by the monotonic clock. */
  readonly sweptMs: number;
}

/** Revisions of the rules of live scoring: the one in force, and those of which traces are left. */
export class LiveRevisions {
  readonly #deps: RevisionsDeps;
  /** In the order of time. */
  readonly #revisions: LiveRevision[];
  #current: LiveRevision;
  /** Time by the store's clock at which the current one came into force here, Unix milliseconds. */
  #sinceMs = Infinity;
  /** Number of revisions whose rules the history continues. */
  #continued = 0;
  /** Ends when no rules are being stored: a trace that comes meanwhile belongs to the next revision. */
  #revising: Promise<unknown> = Promise.resolve();

  /** Throws `ConfigError` for rules that cannot be run. */
  constructor(scoring: Scoring, rules: readonly Rule[], deps: RevisionsDeps) {
    this.#deps = deps;
    this.#current = this.#create(scoring, rules, Number.NEGATIVE_INFINITY);
    this.#revisions = [this.#current];
  }

  get current(): Readonly<Pick<LiveRevision, 'scoring' | 'rules' | 'history'>> {
    return this.#current;
  }

  /** True when no trace can get a score. */
  get isIdle(): boolean {
    return this.#revisions.every(({ rules }) => rules.length === 0);
  }

  #create(scoring: Scoring, rules: readonly Rule[], fromMs: number): LiveRevision {
    const { ownership: claims, signal } = this.#deps;
    const owned = { ...scoring, claims, signal };
    return {
      scoring: owned,
      rules: rules.map(prepareRule),
      fromMs,
      history: null,
      running: 0,
      retiring: null,
    };
  }

  /** Stores the rules in force. Throws when the store does. */
  async record(nowMs: number): Promise<void> {
    const current = this.#current;
    current.history = await recordRules(current.scoring.stores.ruleVersions, current.rules, nowMs);
    // After the store's clock went back, its own begin lies ahead.
    current.fromMs = Math.min(current.fromMs, nowMs);
    this.#sinceMs = nowMs;
  }

  /**
   * Puts other rules, and the scoring by them, in force: for traces that arrive from now on. Throws, and changes nothing, for rules that
   * cannot be run, and when the store does. Returns the time from which they are in force, Unix milliseconds by the store's clock: now, or
   * since another process has them.
   * @param onRetired called when no trace of the former revision is left
   */
  revise(scoring: Scoring, rules: readonly Rule[], onRetired: () => void): Promise<number> {
    const revised = this.#revise(scoring, rules, onRetired);
    this.#revising = revised.catch(() => undefined);
    return revised;
  }

  async #revise(scoring: Scoring, rules: readonly Rule[], onRetired: () => void): Promise<number> {
    const former = this.#current;
    const nowMs = await scoring.stores.spans.nowMs();
    const next = this.#create(scoring, rules, nowMs);
    const recorded = await recordRules(scoring.stores.ruleVersions, next.rules, nowMs);
    // Another process may have put these rules in force a moment ago: a trace from between belongs to them here, too.
    const firstMs = recorded.activeFromMs(next.rules);
    next.fromMs = firstMs > this.#sinceMs ? Math.min(firstMs, nowMs) : nowMs;
    this.#sinceMs = next.fromMs;
    // After many revisions, the history begins anew, as at a restart.
    this.#continued = this.#continued >= MAX_CONTINUED ? 0 : this.#continued + 1;
    next.history =
      former.history === null || this.#continued === 0
        ? recorded
        : continueHistory({ rules: former.rules, history: former.history, untilMs: next.fromMs }, recorded);
    former.retiring = { sinceMs: scoring.monotonicMs(), onRetired };
    this.#current = next;
    this.#revisions.push(next);
    this.#setPairs();
    return next.fromMs;
  }

  /** A former revision keeps its scorers until it is retired. */
  #setPairs(): void {
    this.#deps.ownership.setPairs([...new Set(this.#revisions.flatMap(({ rules }) => listPairs(rules)))]);
  }

  /** Scores traces, each by the revision that was in force at its first arrival. Throws when the store cannot be read. */
  async score(items: readonly WorkItem[], onOutcome: (outcome: TraceOutcome) => void): Promise<void> {
    await this.#revising;
    const held = [...this.#revisions];
    held.forEach((revision) => (revision.running += 1));
    let groups: ReadonlyMap<LiveRevision, readonly WorkItem[]> = new Map();
    try {
      groups = await this.#group(items, held);
    } finally {
      held.filter((revision) => !groups.has(revision)).forEach((revision) => (revision.running -= 1));
    }
    await allSettled(
      [...groups].map(async ([revision, group]) => {
        const { scoring, rules, history } = revision;
        try {
          if (history !== null) {
            await scoreTraces(scoring, group, liveMode(rules, history, this.#deps.admission), onOutcome);
          }
        } finally {
          revision.running -= 1;
        }
      }),
    );
  }

  async #group(
    items: readonly WorkItem[],
    revisions: readonly LiveRevision[],
  ): Promise<Map<LiveRevision, readonly WorkItem[]>> {
    const [first = this.#current, ...others] = revisions;
    if (others.length === 0) {
      return new Map([[first, items]]);
    }
    const activities = await this.#current.scoring.stores.spans.activity(items);
    return Map.groupBy(items, (item) => {
      const firstMs = activities.get(joinTraceKey(item))?.firstArrivalMs ?? item.firstMs ?? Infinity;
      return others.findLast(({ fromMs }) => fromMs <= firstMs) ?? first;
    });
  }

  /** Lists the scorers of all revisions, and the first arrivals that each covers. */
  coverage(): CoveredPair[] {
    const periods = this.#revisions.flatMap(({ rules, history, fromMs }, index) => {
      const untilMs = this.#revisions[index + 1]?.fromMs ?? Infinity;
      // The oldest one continues the histories of those before it.
      return cutPeriods(history?.coverage(rules) ?? [], {
        fromMs: index === 0 ? -Infinity : fromMs,
        untilMs,
      });
    });
    return joinPeriodsOfPairs(periods);
  }

  /**
   * Ends the revisions of which no trace is left. A late span or a retry is not waited for longer than the longest wait.
   * @returns true when the oldest revision waits for a sweep: the trace may have come from another process, or had no room
   */
  retire(left: LeftTraces): boolean {
    const { monotonicMs, readiness } = this.#current.scoring;
    for (let [oldest, next] = this.#revisions; oldest?.retiring && next !== undefined;) {
      const { sinceMs, onRetired } = oldest.retiring;
      const lifeMs = monotonicMs() - sinceMs;
      const isOld = lifeMs > readiness.maxWaitMs + RETIRE_MS;
      const isLeft = left.isQueued(next.fromMs) || (!isOld && left.isWaiting(next.fromMs));
      if (oldest.running > 0 || lifeMs < LEAST_LIFE_MS || isLeft) {
        return false;
      }
      if (oldest.rules.length > 0 && left.sweptMs < sinceMs + LEAST_LIFE_MS) {
        return true;
      }
      this.#revisions.shift();
      this.#setPairs();
      onRetired();
      [oldest, next] = this.#revisions;
    }
    return false;
  }
}

/** Lists the scorers of rules, as `joinPair` names them. */
export function listPairs(rules: readonly Rule[]): string[] {
  return rules.flatMap((rule) => rule.scorers.map(({ name }) => joinPair(rule.name, name)));
}
