import { allSettled } from '../../domain/waits.ts';
import { joinPair, type Ownership } from '../../ownership/ownership.ts';
import { joinTraceKey } from '../../store/contracts/stores.ts';
import { scoreTraces } from '../score-traces.ts';
import type { Scoring } from '../scoring.ts';
import { liveMode } from '../scoring-mode.ts';
import {
  continueHistory,
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

/** Time beyond the longest wait of a trace after which a former revision waits for no trace any more, milliseconds. */
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

/** Revisions of the rules of live scoring: the one in force, and those of which traces are left. */
export class LiveRevisions {
  readonly #deps: RevisionsDeps;
  /** In the order of time. */
  readonly #revisions: LiveRevision[];
  #current: LiveRevision;
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
  }

  /**
   * Puts other rules, and the scoring by them, in force: for traces that arrive from now on. Throws, and changes nothing, for rules that
   * cannot be run, and when the store does. Returns the time from which they are in force, Unix milliseconds by the store's clock.
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
    // After many revisions, the history begins anew, as at a restart.
    this.#continued = this.#continued >= MAX_CONTINUED ? 0 : this.#continued + 1;
    next.history =
      former.history === null || this.#continued === 0
        ? recorded
        : continueHistory({ rules: former.rules, history: former.history, untilMs: nowMs }, recorded);
    former.retiring = { sinceMs: scoring.monotonicMs(), onRetired };
    this.#current = next;
    this.#revisions.push(next);
    this.#setPairs();
    return nowMs;
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

  /**
   * Ends the revisions of which no trace is left. A trace that still gets spans is not waited for longer than the longest wait.
   * @param isLeft returns true when a trace that is not decided arrived before a time
   */
  retire(isLeft: (beforeMs: number) => boolean): void {
    const { monotonicMs, readiness } = this.#current.scoring;
    for (let [oldest, next] = this.#revisions; oldest?.retiring && next !== undefined;) {
      const lifeMs = monotonicMs() - oldest.retiring.sinceMs;
      const isOld = lifeMs > readiness.maxWaitMs + RETIRE_MS;
      if (oldest.running > 0 || lifeMs < LEAST_LIFE_MS || (!isOld && isLeft(next.fromMs))) {
        return;
      }
      this.#revisions.shift();
      this.#setPairs();
      oldest.retiring.onRetired();
      [oldest, next] = this.#revisions;
    }
  }
}

/** Lists the scorers of rules, as `joinPair` names them. */
export function listPairs(rules: readonly Rule[]): string[] {
  return rules.flatMap((rule) => rule.scorers.map(({ name }) => joinPair(rule.name, name)));
}
