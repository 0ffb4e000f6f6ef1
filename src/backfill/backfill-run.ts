import PQueue from 'p-queue';
import { SECOND_MS } from '../domain/durations.ts';
import { sleep } from '../domain/waits.ts';
import { createProviderShare } from '../judge/limits/provider-share.ts';
import type { JobRun } from '../jobs/job-kind.ts';
import { SETTLE_MS } from '../jobs/settle-time.ts';
import { createReadLimits, type Scoring } from '../scoring/scoring.ts';
import { backfillMode } from '../scoring/scoring-mode.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';
import type { SessionSettings } from '../scoring/sessions/score-session.ts';
import type { Job, JobProgress } from '../store/contracts/jobs.ts';
import { MAX_KEYS } from '../store/contracts/stores.ts';
import {
  addCounts,
  atLeast,
  EMPTY_REPORT,
  readBackfillReport,
  sumReasons,
  type BackfillReport,
  type PairCounts,
} from './backfill-report.ts';
import {
  computeBackfillId,
  readBackfillSpec,
  readRange,
  renameRules,
  type BackfillRange,
  type BackfillSpec,
} from './backfill-spec.ts';
import { Progress, readCheckpoint, type Checkpoint, type PageTimes } from './checkpoint.ts';
import { CostCap } from './cost-cap.ts';
import { countPairs, RETRY_WAITS_MS, scorePage } from './score-page.ts';
import {
  countTargets,
  readLive,
  selectBackfill,
  type Selecting,
  type SelectedTargets,
} from './select-backfill.ts';
import { selectSessions, SESSION_PAGE } from './select-sessions.ts';
import { createSessionTargets, createTraceTargets, type BackfillTargets } from './targets.ts';
import type { JudgeStock } from '../scoring/live/queue.ts';

/** Time over which the speed is measured, milliseconds. */
const WINDOW_MS = 30_000;

/** Speed of a count that grows. */
class ProgressRate {
  readonly #monotonicMs: () => number;
  readonly #samples: { readonly atMs: number; readonly count: number }[] = [];

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Returns the growth a second since half a minute ago; null before the count has grown. */
  measure(count: number): number | null {
    const atMs = this.#monotonicMs();
    this.#samples.push({ atMs, count });
    while (atMs - (this.#samples[1]?.atMs ?? atMs) > WINDOW_MS) {
      this.#samples.shift();
    }
    const [first] = this.#samples;
    const elapsedMs = atMs - (first?.atMs ?? atMs);
    const growth = count - (first?.count ?? count);
    return elapsedMs <= 0 || growth <= 0 ? null : (growth * SECOND_MS) / elapsedMs;
  }
}

/**
 * Most traces of a page by its slowest scorer: one that asks a judge, one of the user's own, one that runs here. A page begins anew after an
 * interruption, and its traces are in memory.
 */
const PAGE = { judged: 100, own: 500, quick: MAX_KEYS };

/** Pages that are scored at the same time: while one waits for the store, the other one uses the processor. */
const PAGES_AT_ONCE = 2;

/** Interval in which the progress within a page is stored, milliseconds. */
const SAVE_EVERY_MS = 2_000;

/** Needs of the work of one backfill. */
export interface BackfillWork {
  readonly scoring: Scoring;
  /** Rules of the specification, with the scorers of the configuration. */
  readonly rules: readonly PreparedRule[];
  /** Rules of live scoring. Traces and sessions that live scoring has yet to decide are left to it. */
  readonly liveRules: readonly PreparedRule[];
  readonly sessions: SessionSettings;
  /** Part of the places of judges for a backfill that names none: above 0 and at most 1. */
  readonly judgeShare: number;
  /** Time by which the clocks of two processes may differ when they ask the store for its time, milliseconds. Default 1,000. */
  readonly settleMs?: number | undefined;
  /** Most traces of a page; at most `MAX_KEYS`. Default: by the slowest scorer. */
  readonly pageSize?: number | undefined;
  /** Waits before scorers that wait for their judge are tried again, milliseconds. Default 1, 3 and 9 s. */
  readonly retryWaitsMs?: readonly number[] | undefined;
}

/** One lease of a backfill: continues from the stored place to the end. */
export class BackfillRun {
  readonly #work: BackfillWork;
  readonly #spec: BackfillSpec;
  readonly #range: BackfillRange;
  readonly #run: JobRun;
  readonly #rules: readonly PreparedRule[];
  readonly #pageSize: number;
  readonly #rate: ProgressRate;
  readonly #cap: CostCap | null;
  /** Counts of the pages under way: for the progress, until the counts of the whole page take their place. */
  readonly #open = new Set<OpenPage>();
  readonly #progress: Progress;
  /** Stores one progress after the other, so that an older one never replaces a newer one. */
  readonly #saves = new PQueue({ concurrency: 1 });
  #costUsd: number;
  /** Counts that were stored last, by this run or the one before. */
  #shown: BackfillReport;

  constructor(work: BackfillWork, job: Job, run: JobRun) {
    this.#work = work;
    this.#run = run;
    this.#spec = readBackfillSpec(job.spec);
    this.#range = readRange(this.#spec, job.tenant);
    this.#rules = renameRules(computeBackfillId(this.#spec, job.tenant), work.rules);
    this.#pageSize = work.pageSize ?? choosePageSize(work.rules);
    this.#rate = new ProgressRate(work.scoring.monotonicMs);
    const { maxCostUsd } = this.#spec;
    const checkpoint = readCheckpoint(job.checkpoint, maxCostUsd);
    const spentUsd = Math.max(job.costUsd, checkpoint.claimedUsd ?? 0);
    this.#cap = maxCostUsd === null ? null : new CostCap(maxCostUsd, spentUsd, () => this.#save());
    this.#costUsd = job.costUsd;
    this.#progress = new Progress(checkpoint);
    this.#shown = readBackfillReport(job.report);
  }

  /** Scores what is left. Returns the last progress. Throws what `JobRun.check` throws, and what the store throws. */
  async finish(): Promise<JobProgress> {
    const saver = setInterval(() => void this.#save().catch(() => undefined), SAVE_EVERY_MS);
    try {
      if (this.#progress.done.begunMs === 0) {
        await this.#begin();
      }
      const scoring = this.#limitScoring();
      const selecting = await this.#startSelection();
      if (this.#progress.done.phase === 'traces') {
        await this.#scoreTraces(scoring, selecting);
        await this.#advance({ phase: 'sessions' });
      }
      if (this.#progress.done.phase === 'sessions') {
        await this.#readLeftTurns(scoring, selecting);
        await this.#scoreSessions(scoring, selecting);
        await this.#advance({ phase: 'done' });
      }
      return this.#buildProgress(this.#cap?.paidUsd);
    } finally {
      clearInterval(saver);
      await this.#work.scoring.budget.giveBack();
      await this.#saves.onIdle();
      this.#run.keep(this.#buildProgress(this.#cap?.paidUsd));
    }
  }

  async #begin(): Promise<void> {
    const { scoring, settleMs = SETTLE_MS } = this.#work;
    const marginMs = this.#spec.rescore ? settleMs : 0;
    const begunMs = (await scoring.stores.spans.nowMs()) + marginMs;
    const listed = await scoring.stores.spans.count(this.#range);
    await sleep(2 * marginMs, this.#run.signal);
    await this.#advance({ begunMs, listed });
  }

  /** Adds the limits of the backfill to those of the process, and ends with the lease of the job. */
  #limitScoring(): Scoring {
    const { scoring, judgeShare } = this.#work;
    const { concurrency, rescore } = this.#spec;
    const { judgeScope, signal, judgeStock, traceConcurrency, monotonicMs: now } = scoring;
    const share = this.#spec.judgeShare ?? judgeShare;
    const check = () => this.#run.check();
    return {
      ...scoring,
      ...createReadLimits(),
      claims: { claim: (key) => ({ key, owns: () => true, check }) },
      budget: this.#cap?.limit(scoring.budget) ?? scoring.budget,
      judgeStock: shareStock(judgeStock, share),
      traceConcurrency: concurrency ?? Math.max(traceConcurrency, this.#pageSize),
      tracesPerBatch: MAX_KEYS,
      judgeScope: {
        ...judgeScope,
        ...(rescore ? { cache: undefined } : {}),
        ...(share < 1 ? { share: createProviderShare(share, { now }) } : {}),
        onCall: (call) => {
          this.#costUsd += call.cost ?? 0;
          judgeScope.onCall?.(call);
        },
      },
      signal: AbortSignal.any([this.#run.signal, ...(signal === undefined ? [] : [signal])]),
    };
  }

  async #startSelection(): Promise<Selecting> {
    const { scoring, liveRules, sessions } = this.#work;
    const { begunMs } = this.#progress.done;
    const redo = this.#spec.rescore ? { sinceMs: begunMs, selects: () => true } : null;
    return {
      mode: backfillMode(this.#rules, redo),
      live: await readLive(scoring, liveRules),
      readiness: scoring.readiness,
      sessions,
    };
  }

  async #scoreTraces(scoring: Scoring, selecting: Selecting): Promise<void> {
    const targets = createTraceTargets(scoring, selecting.mode);
    const { concurrency } = this.#spec;
    const { afterTrace: after } = this.#progress.done;
    const limit = this.#limitPage(this.#pageSize);
    const pages = selectBackfill(scoring, this.#range, selecting, { after, limit });
    await this.#scorePages(targets, this.#pace(pages), {
      atOnce: concurrency === null ? PAGES_AT_ONCE : 1,
      describe: (page) => ({
        counted: { matched: countTargets(page), sessions: 0 },
        listed: page.listed,
        place: { afterTrace: String(page.times.last) },
      }),
    });
  }

  /** Limits the targets of a page to what may run at the same time, and in a second. */
  #limitPage(most: number): number {
    const { concurrency, tracesPerSecond } = this.#spec;
    return Math.max(1, Math.floor(Math.min(most, concurrency ?? Infinity, tracesPerSecond ?? Infinity)));
  }

  /** Gives pages out as fast as the backfill may go. */
  async *#pace<Page extends { readonly taken: readonly unknown[] }>(
    pages: AsyncIterable<Page>,
  ): AsyncGenerator<Page> {
    const { tracesPerSecond } = this.#spec;
    for await (const page of pages) {
      const begunMs = performance.now();
      yield page;
      if (tracesPerSecond !== null) {
        const dueMs = begunMs + (page.taken.length * SECOND_MS) / tracesPerSecond;
        await sleep(Math.max(0, dueMs - performance.now()), this.#run.signal);
      }
    }
  }

  /**
   * Reads the traces that the conditions leave out and that no process has read: each may be a turn of a session that meets them. Traces
   * that were read are passed over, so that it needs no place of its own in the checkpoint.
   */
  async #readLeftTurns(scoring: Scoring, selecting: Selecting): Promise<void> {
    const { where, ...range } = this.#range;
    const mode = { ...selecting.mode, rules: [] };
    if (where === undefined || mode.sessionRules.length === 0) {
      return;
    }
    const targets = createTraceTargets(scoring, mode);
    const limit = this.#limitPage(this.#pageSize);
    const pages = selectBackfill(scoring, range, { ...selecting, mode }, { after: null, limit });
    for await (const page of this.#pace(pages)) {
      const { settle, open } = this.#startPage(targets, page);
      await settle;
      this.#open.delete(open);
      await this.#run.check();
    }
  }

  async #scoreSessions(scoring: Scoring, selecting: Selecting): Promise<void> {
    const { mode, sessions } = selecting;
    const targets = createSessionTargets(scoring, mode, sessions);
    const { afterSession: after } = this.#progress.done;
    const limit = this.#limitPage(SESSION_PAGE);
    const pages = selectSessions(scoring, this.#range, selecting, { after, limit });
    await this.#scorePages(targets, this.#pace(pages), {
      // The turns of a page's sessions are in memory.
      atOnce: 1,
      describe: (page) => ({
        counted: { matched: 0, sessions: countTargets(page) },
        listed: 0,
        place: { afterSession: String(page.times.last) },
      }),
    });
  }

  /** Scores pages, some at the same time. */
  async #scorePages<Key, Page extends SelectedTargets<Key> & { readonly times: PageTimes }>(
    targets: BackfillTargets<Key>,
    pages: AsyncIterable<Page>,
    { atOnce, describe }: PagesTerms<Page>,
  ): Promise<void> {
    const underWay: PageUnderWay[] = [];
    try {
      for await (const page of pages) {
        const { counted, listed, place } = describe(page);
        if (underWay.length === 0) {
          this.#progress.noteNext(page.times);
        }
        underWay.push({ ...this.#startPage(targets, page), counted, listed, place, times: page.times });
        if (underWay.length >= atOnce) {
          await this.#settleFirst(underWay);
        }
        await this.#run.check();
      }
      while (underWay.length > 0) {
        await this.#settleFirst(underWay);
      }
    } finally {
      // After an error, the other pages still write rows.
      await Promise.allSettled(underWay.map(({ settle }) => settle));
    }
  }

  /** Starts to score a page. */
  #startPage<Key>(
    targets: BackfillTargets<Key>,
    page: SelectedTargets<Key>,
  ): Pick<PageUnderWay, 'settle' | 'open'> {
    const open: OpenPage = { counts: EMPTY_REPORT };
    this.#open.add(open);
    const settle = scorePage(targets, page, {
      begunMs: this.#progress.done.begunMs,
      isSpent: () => this.#cap?.isSpent === true,
      check: () => this.#run.check(),
      signal: this.#run.signal,
      retryWaitsMs: this.#work.retryWaitsMs ?? RETRY_WAITS_MS,
      onPairs: (pairs) => {
        open.counts = addCounts(open.counts, pairs);
      },
    });
    // A page may fail while the page before it is awaited: the error is thrown when this page is.
    settle.catch(() => this.#open.delete(open));
    return { settle, open };
  }

  /** Waits for the first page. Pages end in the order of their places, so that a checkpoint leaves out none. */
  async #settleFirst(underWay: PageUnderWay[]): Promise<void> {
    const [first, next] = underWay;
    if (first === undefined) {
      return;
    }
    const pairs = await first.settle;
    underWay.shift();
    this.#open.delete(first.open);
    const { counts, passed } = this.#progress.done;
    const sum = addCounts(counts, pairs);
    const { matched, sessions } = first.counted;
    const all = { ...sum, matched: sum.matched + matched, sessions: sum.sessions + sessions };
    this.#progress.addPage({ ...first.place, passed: passed + first.listed, counts: all }, first.times);
    if (next !== undefined) {
      this.#progress.noteNext(next.times);
    }
    await this.#save();
  }

  async #advance(change: Partial<Checkpoint>): Promise<void> {
    this.#progress.advance(change);
    await this.#save();
  }

  #save(): Promise<void> {
    return this.#saves.add(() => this.#run.save(this.#buildProgress(this.#cap?.claimUsd)));
  }

  #buildProgress(claimedUsd: number | undefined): JobProgress {
    const { phase, counts: ended } = this.#progress.done;
    const current = [...this.#open].reduce((sum, open) => addCounts(sum, open.counts), ended);
    const counts = phase === 'done' ? current : atLeast(current, this.#shown);
    this.#shown = counts;
    const done = counts.scored + sumReasons(counts.skipped) + sumReasons(counts.failed);
    const remaining = this.#estimateRemaining(done);
    const perSecond = this.#rate.measure(done);
    const report: BackfillReport = {
      ...counts,
      remaining,
      perSecond,
      etaSeconds: perSecond === null ? null : Math.ceil(remaining / perSecond),
    };
    return {
      checkpoint: { ...this.#progress.place, ...(claimedUsd === undefined ? {} : { claimedUsd }) },
      report: { ...report },
      costUsd: this.#costUsd,
    };
  }

  /** Estimates the pairs that are left: one for each scorer and trace that matches, by the part of the traces that did so far. */
  #estimateRemaining(done: number): number {
    const { phase, listed, passed, counts } = this.#progress.done;
    const pairs = countPairs(this.#rules.filter(({ target }) => target !== 'session'));
    const part = passed === 0 ? 1 : counts.matched / passed;
    return phase === 'traces' ? Math.max(0, Math.round(listed * part) * pairs - done) : 0;
  }
}

/**
 * Returns a stock that uses a part of the places of another one, at least one of them. The other places stay free for live scoring.
 * @param share above 0 and at most 1
 */
export function shareStock(stock: JudgeStock, share: number): JudgeStock {
  const queue = new PQueue({ concurrency: Math.max(1, Math.floor(stock.concurrency * share)) });
  return { ...stock, run: (end, call) => queue.add(() => stock.run(end, call)) };
}

/** Returns the most traces of a page of these rules. */
function choosePageSize(rules: readonly PreparedRule[]): number {
  const scorers = rules.flatMap((rule) => rule.scorers);
  if (scorers.some(({ isJudged }) => isJudged)) {
    return PAGE.judged;
  }
  return scorers.some(({ guest }) => guest !== undefined) ? PAGE.own : PAGE.quick;
}

type PageCounts = Pick<BackfillReport, 'matched' | 'sessions'>;

/** Terms of the pages of one kind of targets. */
interface PagesTerms<Page> {
  /** Pages that are scored at the same time. */
  readonly atOnce: number;
  readonly describe: (page: Page) => {
    readonly counted: PageCounts;
    /** Number of traces that were listed for the page. */
    readonly listed: number;
    /** Place after the page. */
    readonly place: Partial<Checkpoint>;
  };
}

/** Counts of a page that is not done. */
interface OpenPage {
  counts: BackfillReport;
}

/** Page whose targets are being scored. */
interface PageUnderWay {
  readonly settle: Promise<PairCounts>;
  readonly open: OpenPage;
  readonly counted: PageCounts;
  readonly times: PageTimes;
  /** Number of traces that were listed for it. */
  readonly listed: number;
  readonly place: Partial<Checkpoint>;
}
