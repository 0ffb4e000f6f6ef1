import { HELD_BACK } from '../../domain/decision.ts';
import type { Log } from '../../telemetry/log.ts';

interface TryOutcome {
  /** `provider/model`; '' for a scorer that uses no configured judge. */
  readonly judge: string;
  readonly scorer: string;
  readonly status: 'scored' | 'not_applicable' | 'deferred' | 'failed';
  /** Short name under which failures are counted, such as `HTTP 401`. */
  readonly kind: string;
  /** '' for a success. */
  readonly reason: string;
}

/** State of the judge of one scorer since the start of this process. Times are Unix milliseconds. */
export interface JudgeState {
  readonly judge: string;
  readonly scorer: string;
  readonly state: 'ok' | 'failing';
  /** Start of the failures; null while the judge works, and while only a budget holds it back. */
  readonly failingSinceMs: number | null;
  readonly succeeded: number;
  readonly deferred: number;
  readonly failed: number;
  readonly kinds: Readonly<Record<string, number>>;
  readonly lastFailure: { readonly kind: string; readonly reason: string; readonly atMs: number } | null;
  readonly lastSuccessMs: number | null;
}

const DEFAULTS = { now: (): number => Date.now(), everyMs: 60_000 };

/** Kinds of an attempt that a budget deferred: by a judge, and by a scorer that tells only the code. No fault of the judge. */
const OF_BUDGETS: ReadonlySet<string> = new Set(['budget', HELD_BACK]);

/** Most pairs of judge and scorer that are counted. Configurations have some dozens. */
const MAX_PAIRS = 1_000;

/** Most kinds of failure of a pair. Further kinds count as `other`. */
const MAX_KINDS = 50;

export type JudgeHealth = Pick<ScorerWatches, keyof ScorerWatches>;

/** @param options now: Unix milliseconds; everyMs: interval of the summaries while a judge fails, milliseconds */
export function createJudgeHealth(options: Partial<typeof DEFAULTS> & { readonly log: Log }): JudgeHealth {
  return new ScorerWatches({ ...DEFAULTS, ...options });
}

type WatchOptions = typeof DEFAULTS & { readonly log: Log };

/** Counts the attempts of all scorers. Logs the first failure of each kind, then a summary per minute, then the recovery. */
class ScorerWatches {
  readonly #options: WatchOptions;
  readonly #watches = new Map<string, Watch>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  observe(outcome: TryOutcome): void {
    const { judge, scorer, status } = outcome;
    const key = JSON.stringify([judge, scorer]);
    if (!this.#watches.has(key) && this.#watches.size < MAX_PAIRS) {
      this.#watches.set(key, new Watch(judge, scorer, this.#options));
    }
    const watch = this.#watches.get(key);
    if (status === 'scored' || status === 'not_applicable') {
      watch?.succeeded(this.#options.now());
      return;
    }
    watch?.failed(outcome, this.#options.now());
    this.#timer ??= setInterval(() => this.#reportSummaries(), this.#options.everyMs).unref();
  }

  states(): readonly JudgeState[] {
    return [...this.#watches.values()].map((watch) => watch.state());
  }

  /** Logs the last summaries and stops the timer. */
  stop(): void {
    this.#reportSummaries();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #reportSummaries(): void {
    const nowMs = this.#options.now();
    this.#watches.forEach((watch) => watch.reportSummary(nowMs));
    if (![...this.#watches.values()].some((watch) => watch.isOpen())) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}

interface Tally {
  succeeded: number;
  deferred: number;
  failed: number;
  readonly kinds: Map<string, number>;
}

/** One scorer and its judge. The watch is open from the first failure, or the first refusal of a budget, until the recovery is logged. */
class Watch {
  readonly #judge: string;
  readonly #scorer: string;
  readonly #options: WatchOptions;
  readonly #total = emptyTally();
  /** Kinds that failed since the watch was opened. */
  readonly #seen = new Set<string>();
  /** Time of the last failure of each kind. */
  readonly #failedAtMs = new Map<string, number>();
  #recent = emptyTally();
  #openedAtMs: number | null = null;
  #closedAtMs = -Infinity;
  #failingSinceMs: number | null = null;
  #lastFailure: JudgeState['lastFailure'] = null;
  #lastSuccessMs: number | null = null;
  #failuresSinceOpen = 0;

  constructor(judge: string, scorer: string, options: WatchOptions) {
    this.#judge = judge;
    this.#scorer = scorer;
    this.#options = options;
  }

  isOpen(): boolean {
    return this.#openedAtMs !== null;
  }

  succeeded(nowMs: number): void {
    this.#total.succeeded += 1;
    this.#recent.succeeded += 1;
    this.#lastSuccessMs = nowMs;
    this.#failingSinceMs = null;
    // A judge that fails now and then does not log every recovery: the summary has the number of failures.
    if (this.isOpen() && nowMs - this.#closedAtMs >= this.#options.everyMs) {
      this.#close(nowMs);
    }
  }

  failed({ status, kind, reason }: TryOutcome, nowMs: number): void {
    const { kinds } = this.#total;
    const counted = kinds.has(kind) || kinds.size < MAX_KINDS ? kind : 'other';
    const outcome = status === 'deferred' ? 'deferred' : 'failed';
    for (const tally of [this.#total, this.#recent]) {
      tally[outcome] += 1;
      tally.kinds.set(counted, (tally.kinds.get(counted) ?? 0) + 1);
    }
    this.#openedAtMs ??= nowMs;
    const isHeld = OF_BUDGETS.has(kind);
    if (!isHeld) {
      this.#failuresSinceOpen += 1;
      this.#failingSinceMs ??= nowMs;
      this.#lastFailure = { kind, reason, atMs: nowMs };
    }
    const isNew =
      !this.#seen.has(counted) &&
      nowMs - (this.#failedAtMs.get(counted) ?? -Infinity) >= this.#options.everyMs;
    this.#seen.add(counted);
    if (isNew) {
      this.#options.log.warn(this.#formatMessage(isHeld ? 'is held back by a budget' : 'fails'), {
        ...this.#listNames(),
        kind,
        decision: status,
        reason,
      });
    }
    this.#failedAtMs.set(counted, nowMs);
  }

  /** Logs the number of failures since the last summary, or the recovery. */
  reportSummary(nowMs: number): void {
    const { succeeded, deferred, failed, kinds } = this.#recent;
    this.#recent = emptyTally();
    if (!this.isOpen()) {
      return;
    }
    if (deferred + failed > 0) {
      const isHeld = [...kinds.keys()].every((kind) => OF_BUDGETS.has(kind));
      this.#options.log.warn(this.#formatMessage(isHeld ? 'is still held back by a budget' : 'still fails'), {
        ...this.#listNames(),
        deferred,
        failed,
        succeeded,
        kinds: Object.fromEntries(kinds),
      });
    } else if (this.#failingSinceMs === null) {
      this.#close(nowMs);
    }
  }

  state(): JudgeState {
    const { kinds, ...counts } = this.#total;
    return {
      judge: this.#judge,
      scorer: this.#scorer,
      state: this.#failingSinceMs === null ? 'ok' : 'failing',
      failingSinceMs: this.#failingSinceMs,
      ...counts,
      kinds: Object.fromEntries(kinds),
      lastFailure: this.#lastFailure,
      lastSuccessMs: this.#lastSuccessMs,
    };
  }

  #close(nowMs: number): void {
    const seconds = Math.round((nowMs - (this.#openedAtMs ?? nowMs)) / 1_000);
    const isHeld = this.#failuresSinceOpen === 0;
    this.#options.log.info(
      this.#formatMessage(isHeld ? 'is no longer held back by a budget' : 'works again'),
      {
        ...this.#listNames(),
        failures: this.#failuresSinceOpen,
        seconds,
      },
    );
    this.#openedAtMs = null;
    this.#seen.clear();
    this.#closedAtMs = nowMs;
    this.#failuresSinceOpen = 0;
    this.#recent = emptyTally();
  }

  #formatMessage(state: string): string {
    return `${this.#judge === '' ? 'scorer' : 'judge'} ${state}`;
  }

  #listNames(): { judge?: string; scorer: string } {
    return { ...(this.#judge === '' ? {} : { judge: this.#judge }), scorer: this.#scorer };
  }
}

function emptyTally(): Tally {
  return { succeeded: 0, deferred: 0, failed: 0, kinds: new Map() };
}

/** Numbers of answers that judges did not have to give again, since the start of the process. */
export class JudgeReuses {
  readonly #counts = new Map<string, Map<string, number>>();

  add(tenant: string, judge: string): void {
    const ofJudge = this.#counts.get(judge) ?? new Map<string, number>();
    this.#counts.set(judge, ofJudge.set(tenant, (ofJudge.get(tenant) ?? 0) + 1));
  }

  /** Counts the answers of a judge for a tenant; undefined: for all tenants. */
  count(judge: string, tenant?: string): number {
    const ofJudge = this.#counts.get(judge);
    return tenant === undefined
      ? [...(ofJudge?.values() ?? [])].reduce((sum, count) => sum + count, 0)
      : (ofJudge?.get(tenant) ?? 0);
  }
}
