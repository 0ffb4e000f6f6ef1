import PQueue from 'p-queue';
import { z } from 'zod';
import { MIB } from '../domain/byte-sizes.ts';
import { SECOND_MS } from '../domain/durations.ts';
import { ConfigError, findCause } from '../domain/errors.ts';
import { sleep } from '../domain/waits.ts';
import { BATCH_TIMEOUT_MS, JudgeBatches, type BatchTimes } from '../judge/batches.ts';
import { configuredJudges } from '../judge/judge-registry.ts';
import { createProviderShare } from '../judge/limits.ts';
import { createJudgeSlots, type JudgeSlots } from '../scoring/live/queue.ts';
import { createReadLimits, createWriters, type Scoring } from '../scoring/scoring.ts';
import { backfillMode } from '../scoring/scoring-mode.ts';
import type { CommitPace } from '../scoring/record/group-commit.ts';
import { createLaterScores } from '../scoring/read/lookups.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';
import type { SessionSettings } from '../scoring/sessions/score-session.ts';
import type { Job, JobProgress } from '../store/contracts/jobs.ts';
import { MAX_KEYS } from '../store/contracts/stores.ts';
import { CostCap } from './cost-cap.ts';
import { beginJob, type JobKind, type JobRun } from './job-kind.ts';
import { countPairs, RETRY_WAITS_MS, scorePage } from './score-page.ts';
import {
  countTargets,
  selectSessions,
  selectTraces,
  SESSION_PAGE,
  startSelection,
  type JobRange,
  type Listing,
  type PageTimes,
  type SelectedPage,
  type Selecting,
} from './selection.ts';
import {
  addCounts,
  atLeast,
  BACKFILL,
  BackfillCounts,
  computeBackfillId,
  findForeignScorer,
  JobPlace,
  NO_COUNTS,
  readBackfillReport,
  readBackfillSpec,
  readRange,
  renameRules,
  sumReasons,
  type BackfillReport,
  type BackfillRule,
  type BackfillSpec,
} from './stored-job.ts';
import { createSessionTargets, createTraceTargets, type JobTargets } from './targets.ts';

/** Time over which the speed is measured, milliseconds. */
const WINDOW_MS = 30_000;

/**
 * Most traces of a page by its slowest scorer: one that asks a judge, one of the user's own, one that asks in batches, one that runs here. A page begins anew after an
 * interruption, and its traces are in memory.
 */
const PAGE = { judged: 100, own: 500, batch: 1_000, quick: 1_000 };

/** Pages that are scored at the same time: while one waits for the store, the other one uses the processor. */
const PAGES_AT_ONCE = 2;

/** Least rows of one table that are written without a wait, and the longest wait for them, milliseconds. */
const WRITES = { manyItems: 1_500, everyMs: 500 };

/** Characters of content that quick scorers have in memory at a time. */
const QUICK_CHARS = 16 * MIB;

/** Interval in which the progress within a page is stored, milliseconds. */
const SAVE_EVERY_MS = 2_000;

export interface BackfillDeps {
  readonly scoring: Scoring;
  /** Prepares a rule with the scorers of the configuration. Throws a `ConfigError` when it lacks one. */
  readonly bindRule: (rule: BackfillRule) => Promise<PreparedRule>;
  /** Rules of live scoring. Traces and sessions that live scoring has yet to decide are left to it. */
  readonly liveRules: readonly PreparedRule[];
  readonly sessions: SessionSettings;
  /** Part of the places of judges for a backfill that names none: above 0 and at most 1. */
  readonly judgeShare: number;
  /** See `beginJob`. */
  readonly settleMs?: number | undefined;
  /** Most traces or sessions of a page; at most `MAX_KEYS`. Default: by the slowest scorer. */
  readonly pageSize?: number | undefined;
  /** Waits before scorers that wait for their judge are tried again, milliseconds. Default 1, 3 and 9 s. */
  readonly retryWaitsMs?: readonly number[] | undefined;
  /** Waits around batches. */
  readonly batchTimes?: Partial<BatchTimes> | undefined;
}

/** Creates the kind of job that scores stored traces with the code of live scoring. */
export function backfillKind(deps: BackfillDeps): JobKind {
  const bindRules = (job: Job) => Promise.all(readBackfillSpec(job.spec).rules.map(deps.bindRule));
  return {
    name: BACKFILL,
    refuse: async (job) => {
      const { rules } = readBackfillSpec(job.spec);
      const fingerprints = Object.fromEntries(rules.map(({ name, scorers }) => [name, scorers]));
      try {
        return findForeignScorer(fingerprints, await bindRules(job));
      } catch (error) {
        const fault = findCause(error, ConfigError);
        if (fault === null) {
          throw error;
        }
        return `its configuration cannot run the scorers: ${fault.message}`;
      }
    },
    run: async (job, run) => new BackfillRun(deps, await bindRules(job), job, run).finish(),
  };
}

const Checkpoint = JobPlace.extend({
  /** Estimated number of traces in the range, of agents or not. */
  listed: z.number(),
  /** Number of them in the pages that are done. */
  passed: z.number(),
  counts: BackfillCounts,
  /** Money that judge calls may have cost when this place was stored, or cost before the next one is, USD. Absent without a cap. */
  claimedUsd: z.number().optional(),
  /** Batches of the judge whose answers are not all rows. Absent without batches. */
  batches: z
    .array(z.object({ judge: z.string(), id: z.string().nullable(), sinceMs: z.number() }))
    .optional(),
});
type Checkpoint = Readonly<z.infer<typeof Checkpoint>>;

const START: Checkpoint = {
  begunMs: 0,
  phase: 'traces',
  after: null,
  listed: 0,
  passed: 0,
  counts: NO_COUNTS,
};

/**
 * Progress of a backfill: all that is done, and the place from which another run can continue. A place is a time, and targets of one time
 * may lie on two pages. So a page becomes the place only when a page with later targets is known.
 */
class Progress {
  done: Checkpoint;
  place: Checkpoint;
  #last: bigint | null = null;

  constructor(from: Checkpoint) {
    this.done = from;
    this.place = from;
  }

  /** Adds what belongs to no page, or ends a phase. */
  advance(change: Partial<Checkpoint>): void {
    this.done = { ...this.done, ...change };
    this.place = this.done;
    this.#last = null;
  }

  /** Adds a page. Pages come in their order. */
  addPage(counts: BackfillCounts, { listed, times: { last } }: SelectedPage): void {
    const { done } = this;
    const sum = addCounts(done.counts, counts);
    this.done = { ...done, after: String(last), passed: done.passed + listed, counts: sum };
    this.#last = last;
  }

  /** Notes the page after the last one that is done. Returns true when all pages before it are never read again. */
  noteNext({ first }: PageTimes): boolean {
    const isPast = this.#last !== null && first > this.#last;
    if (isPast) {
      this.place = this.done;
    }
    return isPast;
  }
}

/** Page whose targets are being scored. */
interface OpenPage {
  readonly page: SelectedPage;
  /** Counts for the progress, until the counts of the whole page take their place. */
  counts: BackfillCounts;
  readonly settle: Promise<BackfillCounts>;
}

/** One lease of a backfill: continues from the stored place to the end. */
class BackfillRun {
  readonly #deps: BackfillDeps;
  readonly #spec: BackfillSpec;
  readonly #range: JobRange;
  readonly #run: JobRun;
  readonly #rules: readonly PreparedRule[];
  readonly #kind: keyof typeof PAGE;
  readonly #pageSize: number;
  readonly #cap: CostCap | null;
  readonly #batches: JudgeBatches | null;
  readonly #open = new Set<OpenPage>();
  readonly #progress: Progress;
  /** Stores one progress after the other, so that an older one never replaces a newer one. */
  readonly #saves = new PQueue({ concurrency: 1 });
  /** Pairs that were done at some times, for the speed. */
  readonly #samples: { readonly atMs: number; readonly count: number }[] = [];
  #costUsd: number;
  /** Counts that were stored last, by this run or the one before. */
  #shown: BackfillCounts;

  constructor(deps: BackfillDeps, rules: readonly PreparedRule[], job: Job, run: JobRun) {
    this.#deps = deps;
    this.#run = run;
    this.#spec = readBackfillSpec(job.spec);
    this.#range = readRange(this.#spec, job.tenant);
    this.#rules = renameRules(
      computeBackfillId(this.#spec, job.tenant),
      this.#spec.batch ? rules.map(withoutTimeouts) : rules,
    );
    this.#kind = this.#spec.batch ? 'batch' : findSlowest(rules);
    this.#pageSize = deps.pageSize ?? PAGE[this.#kind];
    const { maxCostUsd } = this.#spec;
    const checkpoint = job.checkpoint === null ? START : Checkpoint.parse(job.checkpoint);
    const spentUsd = Math.max(job.costUsd, checkpoint.claimedUsd ?? 0);
    this.#cap = maxCostUsd === null ? null : new CostCap(maxCostUsd, spentUsd, () => this.#save());
    this.#costUsd = job.costUsd;
    this.#batches = this.#spec.batch ? this.#openBatches(job, checkpoint.batches ?? []) : null;
    this.#progress = new Progress(checkpoint);
    this.#shown = readBackfillReport(job.report);
  }

  /** Scores what is left. Returns the last progress. Throws what `JobRun.check` throws, and what the store throws. */
  async finish(): Promise<JobProgress> {
    const saver = setInterval(() => void this.#save().catch(() => undefined), SAVE_EVERY_MS);
    const { spans } = this.#deps.scoring.stores;
    try {
      if (this.#progress.done.begunMs === 0) {
        const settleMs = this.#spec.rescore ? this.#deps.settleMs : 0;
        const begunMs = await beginJob(spans, this.#run, settleMs);
        await this.#advance({ begunMs, listed: await spans.count(this.#range) });
      }
      const scoring = this.#limitScoring();
      await this.#batches?.recover();
      const { begunMs } = this.#progress.done;
      const redo = this.#spec.rescore ? { sinceMs: begunMs, selects: () => true } : null;
      const selecting = await startSelection(this.#deps, backfillMode(this.#rules, redo));
      const { mode, sessions } = selecting;
      if (this.#progress.done.phase === 'traces') {
        const pages = selectTraces(scoring.stores, this.#range, selecting, this.#continueAt(this.#pageSize));
        const targets = createTraceTargets(readScoresAgain(scoring), mode);
        await this.#scorePages(targets, pages, selecting, 'matched');
        await this.#advance({ phase: 'sessions', after: null });
      }
      if (this.#progress.done.phase === 'sessions') {
        await this.#readLeftTurns(scoring, selecting);
        const pages = selectSessions(
          scoring.stores,
          this.#range,
          selecting,
          this.#continueAt(Math.min(SESSION_PAGE, this.#deps.pageSize ?? SESSION_PAGE)),
        );
        await this.#scorePages(createSessionTargets(scoring, mode, sessions), pages, selecting, 'sessions');
        await this.#advance({ phase: 'done' });
      }
      return this.#buildProgress(this.#cap?.paidUsd);
    } finally {
      clearInterval(saver);
      await this.#deps.scoring.budget.giveBack();
      await this.#saves.onIdle();
      this.#run.keep(this.#buildProgress(this.#cap?.paidUsd));
    }
  }

  /** Opens the batches of the job, in the state of its checkpoint. */
  #openBatches(job: Job, stored: NonNullable<Checkpoint['batches']>): JudgeBatches {
    const { scoring, batchTimes } = this.#deps;
    const { signal, log } = scoring;
    const judges = scoring.judgeScope.judges ?? configuredJudges();
    const deps = {
      judges,
      prices: this.#rules.flatMap(({ scorers }) =>
        scorers.flatMap(({ judgeModel }) => judgeModel.split(',')),
      ),
      job: job.id,
      save: () => this.#save(),
      signal: AbortSignal.any([this.#run.signal, ...(signal === undefined ? [] : [signal])]),
      log,
      times: batchTimes,
    };
    return new JudgeBatches(deps, stored);
  }

  /** Adds the limits of the backfill to those of the process, and ends with the lease of the job. */
  #limitScoring(): Scoring {
    const { scoring, judgeShare } = this.#deps;
    const { concurrency, rescore } = this.#spec;
    const { judgeScope, signal, judgeSlots, traceConcurrency, monotonicMs: now } = scoring;
    const { commitPace, judgedPace } = scoring;
    const share = this.#spec.judgeShare ?? judgeShare;
    const check = () => this.#run.check();
    const batches = this.#batches;
    // A run in a batch waits for hours: it has a place as soon as it is read.
    const concurrencyOfBatch = this.#pageSize * countPairs(this.#rules);
    const places =
      batches === null
        ? { judgeSlots: shareSlots(judgeSlots, share) }
        : {
            judgeSlots: createJudgeSlots({
              concurrency: concurrencyOfBatch,
              newestShare: 0,
              monotonicMs: now,
            }),
            scorerTimeoutMs: BATCH_TIMEOUT_MS,
          };
    return {
      ...scoring,
      ...places,
      ...createReadLimits(this.#kind === 'quick' ? QUICK_CHARS : undefined),
      ...createWriters(scoring, {
        judgedPace,
        commitPace: hasten(commitPace),
        giveTurns: scoring.giveTurns,
      }),
      claims: { claim: (key) => ({ key, owns: () => true, check }) },
      budget: this.#cap?.limit(scoring.budget) ?? scoring.budget,
      traceConcurrency: concurrency ?? Math.max(traceConcurrency, this.#pageSize),
      tracesPerBatch: MAX_KEYS,
      judgeScope: {
        ...judgeScope,
        ...(rescore ? { cache: undefined } : {}),
        ...(batches === null ? {} : { judges: batches.judges }),
        ...(share < 1 && batches === null ? { share: createProviderShare(share, { now }) } : {}),
        onCall: (call) => {
          this.#costUsd += call.cost ?? 0;
          judgeScope.onCall?.(call);
        },
      },
      signal: AbortSignal.any([this.#run.signal, ...(signal === undefined ? [] : [signal])]),
    };
  }

  /** Limits the targets of a page to what may run at the same time, and in a second. */
  #limitPage(most: number): number {
    const { concurrency, tracesPerSecond } = this.#spec;
    return Math.max(1, Math.floor(Math.min(most, concurrency ?? Infinity, tracesPerSecond ?? Infinity)));
  }

  #continueAt(most: number): Listing {
    const limit = this.#limitPage(most);
    const { concurrency, tracesPerSecond } = this.#spec;
    // A slow page takes minutes: traces that were listed before it may have changed.
    const isFast = this.#kind === 'quick' && concurrency === null && tracesPerSecond === null;
    const pages = isFast ? Math.max(1, Math.floor(MAX_KEYS / limit)) : 1;
    return { after: this.#progress.done.after, limit, listedAtOnce: pages * limit };
  }

  /** Gives pages out as fast as the backfill may go. */
  async *#pace(pages: AsyncIterable<SelectedPage>): AsyncGenerator<SelectedPage> {
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
    const targets = createTraceTargets(readScoresAgain(scoring), mode);
    const listing = { after: null, limit: this.#limitPage(this.#pageSize) };
    const pages = selectTraces(scoring.stores, range, { ...selecting, mode }, listing);
    for await (const page of this.#pace(pages)) {
      const open = this.#startPage(targets, page, selecting);
      await open.settle;
      this.#open.delete(open);
      await this.#run.check();
    }
  }

  /** Scores the pages of a phase in their order: some of traces at the same time, one of sessions, whose turns are in memory. */
  async #scorePages(
    targets: JobTargets,
    pages: AsyncIterable<SelectedPage>,
    selecting: Selecting,
    counted: 'matched' | 'sessions',
  ): Promise<void> {
    const isFast = counted === 'matched' && this.#spec.concurrency === null && this.#batches === null;
    const atOnce = isFast ? PAGES_AT_ONCE : 1;
    const underWay: OpenPage[] = [];
    try {
      for await (const page of this.#pace(isFast ? readAhead(pages) : pages)) {
        if (underWay.length === 0 && this.#progress.noteNext(page.times)) {
          this.#batches?.forget();
        }
        underWay.push(this.#startPage(targets, page, selecting));
        if (underWay.length >= atOnce) {
          await this.#settleFirst(underWay, counted);
        }
        await this.#run.check();
      }
      while (underWay.length > 0) {
        await this.#settleFirst(underWay, counted);
      }
    } finally {
      // After an error, the other pages still write rows.
      await Promise.allSettled(underWay.map(({ settle }) => settle));
    }
  }

  #startPage(targets: JobTargets, page: SelectedPage, { mode }: Selecting): OpenPage {
    const settle = scorePage(targets, page, {
      begunMs: this.#progress.done.begunMs,
      isSpent: () => this.#cap?.isSpent === true,
      check: () => this.#run.check(),
      signal: this.#run.signal,
      retryWaitsMs: this.#deps.retryWaitsMs ?? RETRY_WAITS_MS,
      // A backfill that replaces scores keeps the source of each.
      isOurs: (source) => source === 'backfill' || (mode.redo !== null && source !== 'human'),
      onPairs: (pairs) => {
        open.counts = addCounts(open.counts, pairs);
      },
    });
    const open: OpenPage = { page, counts: NO_COUNTS, settle };
    this.#open.add(open);
    // A page may fail while the page before it is awaited: the error is thrown when this page is.
    settle.catch(() => this.#open.delete(open));
    return open;
  }

  /** Waits for the first page. Pages end in the order of their places, so that a checkpoint leaves out none. */
  async #settleFirst(underWay: OpenPage[], counted: 'matched' | 'sessions'): Promise<void> {
    const [first, next] = underWay;
    if (first === undefined) {
      return;
    }
    const counts = await first.settle;
    underWay.shift();
    this.#open.delete(first);
    this.#progress.addPage({ ...counts, [counted]: countTargets(first.page) }, first.page);
    if (next !== undefined) {
      this.#progress.noteNext(next.page.times);
    }
    await this.#save();
  }

  async #advance(change: Partial<Checkpoint>): Promise<void> {
    this.#progress.advance(change);
    if ('phase' in change) {
      this.#batches?.forget();
    }
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
    const perSecond = this.#measureSpeed(done);
    const report: BackfillReport = {
      ...counts,
      remaining,
      perSecond,
      etaSeconds: perSecond === null ? null : Math.ceil(remaining / perSecond),
      maxCostUsd: this.#spec.maxCostUsd,
    };
    return {
      checkpoint: {
        ...this.#progress.place,
        ...(claimedUsd === undefined ? {} : { claimedUsd }),
        ...(this.#batches === null ? {} : { batches: this.#batches.stored }),
      },
      report: { ...report },
      costUsd: this.#costUsd,
    };
  }

  /** Returns the pairs a second since half a minute ago; null before a pair is done. */
  #measureSpeed(count: number): number | null {
    const atMs = this.#deps.scoring.monotonicMs();
    const samples = this.#samples;
    samples.push({ atMs, count });
    while (atMs - (samples[1]?.atMs ?? atMs) > WINDOW_MS) {
      samples.shift();
    }
    const elapsedMs = atMs - (samples[0]?.atMs ?? atMs);
    const growth = count - (samples[0]?.count ?? count);
    return elapsedMs <= 0 || growth <= 0 ? null : (growth * SECOND_MS) / elapsedMs;
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
 * Returns slots that use a part of the slots of live scoring, at least one. The other slots stay free for live scoring.
 * @param share above 0 and at most 1
 */
export function shareSlots(slots: JudgeSlots, share: number): JudgeSlots {
  const queue = new PQueue({ concurrency: Math.max(1, Math.floor(slots.concurrency * share)) });
  return { ...slots, run: (end, call) => queue.add(() => slots.run(end, call)) };
}

/** Reads each page while the pages before it are scored. */
async function* readAhead(pages: AsyncIterable<SelectedPage>): AsyncGenerator<SelectedPage> {
  const reading = pages[Symbol.asyncIterator]();
  let next = reading.next();
  for (;;) {
    const page = await next;
    if (page.done === true) {
      return;
    }
    next = reading.next();
    // An error is thrown when the page is asked for.
    next.catch(() => undefined);
    yield page.value;
  }
}

/** Returns the pace of a backfill: it has rows at all times, so that one round of writes follows the other. */
function hasten(pace: CommitPace): CommitPace {
  const everyMs = Math.min(pace.everyMs, WRITES.everyMs);
  return { ...pace, everyMs, busyEveryMs: 0, manyItems: Math.max(pace.manyItems, WRITES.manyItems) };
}

/** Returns a rule whose scorers wait for a batch as long as it takes. */
function withoutTimeouts(rule: PreparedRule): PreparedRule {
  return { ...rule, scorers: rule.scorers.map((scorer) => ({ ...scorer, timeoutMs: undefined })) };
}

function findSlowest(rules: readonly PreparedRule[]): 'judged' | 'own' | 'quick' {
  const scorers = rules.flatMap((rule) => rule.scorers);
  if (scorers.some(({ isJudged }) => isJudged)) {
    return 'judged';
  }
  return scorers.some(({ own }) => own !== undefined) ? 'own' : 'quick';
}

/**
 * Reads the scores of each run again before its judge is asked, however lately they were read: the page beside may have judged the same
 * run meanwhile.
 */
function readScoresAgain(scoring: Scoring): Scoring {
  const { stores, monotonicMs, lookupWaitMs: waitMs } = scoring;
  return { ...scoring, laterScores: createLaterScores(stores.scores, { monotonicMs, waitMs, recentMs: 0 }) };
}
