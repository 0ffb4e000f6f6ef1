import type { Log } from '../../telemetry/log.ts';

/** The end of one try of a scorer. */
export interface TryOutcome {
  /** `provider/model`; '' for a scorer that asks no judge of ours. */
  readonly judge: string;
  readonly scorer: string;
  readonly status: 'scored' | 'not_applicable' | 'deferred' | 'failed';
  /** A short name that failures are counted by, as `HTTP 401`. */
  readonly kind: string;
  /** '' for a success. */
  readonly reason: string;
}

/** State of one scorer's judge since this process began. Times are Unix milliseconds. */
export interface JudgeState {
  readonly judge: string;
  readonly scorer: string;
  readonly state: 'ok' | 'failing';
  /** Begin of the failures; null while it works. */
  readonly failingSinceMs: number | null;
  readonly succeeded: number;
  readonly deferred: number;
  readonly failed: number;
  /** Failures by kind. */
  readonly kinds: Readonly<Record<string, number>>;
  readonly lastFailure: { readonly kind: string; readonly reason: string; readonly atMs: number } | null;
  readonly lastSuccessMs: number | null;
}

/** Watches the tries of all scorers, and says in the log what fails: once a kind, then once a minute, and when it is over. */
export interface JudgeHealth {
  observe(outcome: TryOutcome): void;
  states(): readonly JudgeState[];
  /** Says what has not been said yet. */
  stop(): void;
}

export interface JudgeHealthOptions {
  readonly log: Log;
  /** Unix milliseconds. Default `Date.now`. */
  readonly now?: () => number;
  /** Interval of the summaries while a failure lasts, milliseconds. Default a minute. */
  readonly everyMs?: number;
}

const EVERY_MS = 60_000;

/** The kind of a try that its rule's budget held back: no fault of the judge. */
const BUDGET = 'budget';

/** Most pairs of judge and scorer that are watched; configurations have some dozens. */
const MAX_PAIRS = 1_000;

/** Most kinds of failure that are told apart for a pair; further ones count as `other`. */
const MAX_KINDS = 50;

export function createJudgeHealth({
  log,
  now = Date.now,
  everyMs = EVERY_MS,
}: JudgeHealthOptions): JudgeHealth {
  const watches = new Map<string, Watch>();
  let timer: NodeJS.Timeout | undefined;

  function findWatch({ judge, scorer }: TryOutcome): Watch | undefined {
    const key = JSON.stringify([judge, scorer]);
    let watch = watches.get(key);
    if (watch === undefined && watches.size < MAX_PAIRS) {
      watch = new Watch({ judge, scorer, log, everyMs });
      watches.set(key, watch);
    }
    return watch;
  }

  function sumUp(): void {
    const nowMs = now();
    watches.forEach((watch) => watch.sumUp(nowMs));
    if (![...watches.values()].some((watch) => watch.isOpen())) {
      clearInterval(timer);
      timer = undefined;
    }
  }

  return {
    observe(outcome) {
      const watch = findWatch(outcome);
      if (outcome.status === 'scored' || outcome.status === 'not_applicable') {
        watch?.succeeded(now());
        return;
      }
      watch?.failed(outcome, now());
      timer ??= setInterval(sumUp, everyMs).unref();
    },
    states: () => [...watches.values()].map((watch) => watch.state()),
    stop() {
      sumUp();
      clearInterval(timer);
      timer = undefined;
    },
  };
}

interface WatchOptions {
  readonly judge: string;
  readonly scorer: string;
  readonly log: Log;
  readonly everyMs: number;
}

/** Tries, counted. */
interface Tally {
  succeeded: number;
  deferred: number;
  failed: number;
  readonly kinds: Map<string, number>;
}

/** One scorer with its judge. From the first failure until its end is said, the watch is open. */
class Watch {
  readonly #options: WatchOptions;
  readonly #total = emptyTally();
  /** Kinds that failed since the watch was opened. */
  readonly #seen = new Set<string>();
  /** Time of the last failure of each kind. */
  readonly #failedAtMs = new Map<string, number>();
  #recent = emptyTally();
  #openedAtMs: number | null = null;
  #closedAtMs = -Infinity;
  #isFailing = false;
  #lastFailure: JudgeState['lastFailure'] = null;
  #lastSuccessMs: number | null = null;
  #ofEpisode = 0;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  isOpen(): boolean {
    return this.#openedAtMs !== null;
  }

  succeeded(nowMs: number): void {
    this.#total.succeeded += 1;
    this.#recent.succeeded += 1;
    this.#lastSuccessMs = nowMs;
    this.#isFailing = false;
    // A judge that fails now and then is not said to have recovered each time: the summary says how often it fails.
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
    this.#ofEpisode += 1;
    this.#isFailing = true;
    this.#lastFailure = { kind, reason, atMs: nowMs };
    const isNew =
      !this.#seen.has(counted) &&
      nowMs - (this.#failedAtMs.get(counted) ?? -Infinity) >= this.#options.everyMs;
    this.#seen.add(counted);
    if (isNew) {
      this.#options.log.warn(this.#say(kind === BUDGET ? 'is held back by a budget' : 'fails'), {
        ...this.#who(),
        kind,
        decision: status,
        reason,
      });
    }
    this.#failedAtMs.set(counted, nowMs);
  }

  /** Says how many tries failed since the last summary, and whether that is over. */
  sumUp(nowMs: number): void {
    const { succeeded, deferred, failed, kinds } = this.#recent;
    this.#recent = emptyTally();
    if (!this.isOpen()) {
      return;
    }
    if (deferred + failed > 0) {
      this.#options.log.warn(this.#say('still fails'), {
        ...this.#who(),
        deferred,
        failed,
        succeeded,
        kinds: Object.fromEntries(kinds),
      });
    } else if (!this.#isFailing) {
      this.#close(nowMs);
    }
  }

  state(): JudgeState {
    const { judge, scorer } = this.#options;
    const { succeeded, deferred, failed, kinds } = this.#total;
    return {
      judge,
      scorer,
      state: this.#isFailing ? 'failing' : 'ok',
      failingSinceMs: this.#isFailing ? this.#openedAtMs : null,
      succeeded,
      deferred,
      failed,
      kinds: Object.fromEntries(kinds),
      lastFailure: this.#lastFailure,
      lastSuccessMs: this.#lastSuccessMs,
    };
  }

  #close(nowMs: number): void {
    const seconds = Math.round((nowMs - (this.#openedAtMs ?? nowMs)) / 1_000);
    this.#options.log.info(this.#say('works again'), {
      ...this.#who(),
      failures: this.#ofEpisode,
      seconds,
    });
    this.#openedAtMs = null;
    this.#seen.clear();
    this.#closedAtMs = nowMs;
    this.#ofEpisode = 0;
    this.#recent = emptyTally();
  }

  #say(what: string): string {
    return `${this.#options.judge === '' ? 'scorer' : 'judge'} ${what}`;
  }

  #who(): { judge?: string; scorer: string } {
    const { judge, scorer } = this.#options;
    return judge === '' ? { scorer } : { judge, scorer };
  }
}

function emptyTally(): Tally {
  return { succeeded: 0, deferred: 0, failed: 0, kinds: new Map() };
}
