import { sleep } from '../../domain/waits.ts';
import type { DeadLetterSink } from '../../store/contracts/dead-letters.ts';
import type { ScoreFeed } from '../../store/contracts/score-feed.ts';
import type { Log } from '../../telemetry/log.ts';
import { DutyLost, ExportRun, type ExportCounts } from './export-run.ts';
import type { ScoreExporter } from './score-exporter.ts';

export interface ScoreExportLoopOptions {
  /** Interval between reads of new scores, milliseconds. Default 1,000. */
  readonly intervalMs?: number;
  /** First wait after a failure, milliseconds; doubled up to the last. Defaults 1,000 and 60,000. */
  readonly firstRetryMs?: number;
  readonly maxRetryMs?: number;
  /** Longest time that `stop` continues to send, milliseconds. Default 5,000. */
  readonly drainMs?: number;
}

/** Exporters of this process, among the processes on the same store. */
export interface ExporterDuties {
  /** Returns the number of the epoch in which this process has the exporter; undefined while another process has it. */
  readEpoch(exporter: string): Promise<number | undefined>;
  /** Gives the exporter to another process. */
  leave(exporter: string): Promise<void>;
}

export interface ScoreExportLoopDeps {
  readonly feed: ScoreFeed;
  readonly deadLetters: DeadLetterSink;
  readonly duties: ExporterDuties;
  readonly log: Log;
  /** Random number in [0, 1). */
  readonly random: () => number;
}

export interface ScoreExportLoop {
  /** Registers the exporters: scores written from now on are sent. Throws when the store does. */
  start(): Promise<void>;
  /**
   * Sends the remaining scores within `drainMs`, gives the exporters to other processes, and shuts them down. May be called
   * without `start` and twice.
   */
  stop(): Promise<void>;
  /** Returns the counts since the start, by exporter name. */
  counts(): ReadonlyMap<string, Readonly<ExportCounts>>;
}

const DEFAULTS = {
  intervalMs: 1000,
  firstRetryMs: 1000,
  maxRetryMs: 60_000,
  drainMs: 5000,
} satisfies Required<ScoreExportLoopOptions>;

/** Creates a loop for each exporter, so that a failing receiver delays no other. */
export function createScoreExportLoop(
  exporters: readonly ScoreExporter[],
  options: ScoreExportLoopOptions,
  deps: ScoreExportLoopDeps,
): ScoreExportLoop {
  const settings = { ...DEFAULTS, ...options };
  const stopping = new AbortController();
  const giveUp = new AbortController();
  const signals = { stopping: stopping.signal, giveUp: giveUp.signal };
  const tails = exporters.map((exporter) => new ExporterTail(exporter, settings, { ...deps, ...signals }));
  let running: Promise<void>[] = [];
  let started: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;

  async function start(): Promise<void> {
    await Promise.all(exporters.map(({ name }) => deps.feed.register(name)));
    running = tails.map((each) => each.run());
  }

  async function stop(): Promise<void> {
    stopping.abort();
    const timer = setTimeout(() => giveUp.abort(), settings.drainMs);
    // The caller of `start` gets its failure.
    await started?.catch(() => undefined);
    await Promise.all(running);
    clearTimeout(timer);
    await Promise.all(tails.map((each) => each.shutDown()));
  }

  return {
    start: () => (started ??= start()),
    stop: () => (stopped ??= stop()),
    counts: () => new Map(tails.map(({ name, counts }) => [name, counts])),
  };
}

interface TailDeps extends ScoreExportLoopDeps {
  readonly stopping: AbortSignal;
  readonly giveUp: AbortSignal;
}

/** Loop of one exporter. */
class ExporterTail {
  readonly counts: ExportCounts = { delivered: 0, dead: 0, failedDeliveries: 0 };
  readonly #exporter: ScoreExporter;
  readonly #settings: Required<ScoreExportLoopOptions>;
  readonly #deps: TailDeps;
  #work: { readonly epoch: number; readonly run: ExportRun } | undefined;
  #storeFailures = 0;

  constructor(exporter: ScoreExporter, settings: Required<ScoreExportLoopOptions>, deps: TailDeps) {
    this.#exporter = exporter;
    this.#settings = settings;
    this.#deps = deps;
  }

  get name(): string {
    return this.#exporter.name;
  }

  async run(): Promise<void> {
    const { stopping, giveUp } = this.#deps;
    while (!stopping.aborted) {
      if (!(await this.#pass())) {
        await sleep(this.#computeWaitMs(), stopping);
      }
    }
    // Sends the scores written until the stop. It does not wait for a receiver that is down: the next process sends them.
    const isHealthy = () => this.#storeFailures === 0 && this.#work?.run.isDown !== true;
    for (let more = isHealthy(); more && !giveUp.aborted;) {
      more = (await this.#pass()) && isHealthy();
    }
    await this.#leave();
  }

  async shutDown(): Promise<void> {
    try {
      await this.#exporter.shutdown();
    } catch (error) {
      this.#deps.log.warn('an exporter did not stop cleanly', { exporter: this.name, error });
    }
  }

  #computeWaitMs(): number {
    const { intervalMs, maxRetryMs } = this.#settings;
    return Math.min(intervalMs * 2 ** Math.min(this.#storeFailures, 30), Math.max(intervalMs, maxRetryMs));
  }

  /** Sends the scores that are due, if this process has the exporter. Returns true when further scores are waiting. */
  async #pass(): Promise<boolean> {
    const { duties, log } = this.#deps;
    try {
      const epoch = await duties.readEpoch(this.name);
      this.#work = epoch === undefined ? undefined : this.#continueOrBegin(epoch);
      const more = (await this.#work?.run.pass()) ?? false;
      this.#storeFailures = 0;
      return more;
    } catch (error) {
      if (error instanceof DutyLost) {
        log.info('another process exports now; work that was begun is dropped', { exporter: this.name });
        this.#work = undefined;
        return false;
      }
      this.#storeFailures += 1;
      log.warn('scores could not be read or recorded, trying again', { exporter: this.name, error });
      return false;
    }
  }

  #continueOrBegin(epoch: number): { readonly epoch: number; readonly run: ExportRun } {
    if (this.#work?.epoch === epoch) {
      return this.#work;
    }
    const { feed, deadLetters, duties, log, random, giveUp } = this.#deps;
    const { firstRetryMs, maxRetryMs } = this.#settings;
    const run = new ExportRun({
      exporter: this.#exporter,
      feed,
      deadLetters,
      log,
      counts: this.counts,
      monotonicMs: () => performance.now(),
      random,
      checkDuty: async () => {
        if ((await duties.readEpoch(this.name)) !== epoch) {
          throw new DutyLost(this.name);
        }
      },
      giveUp,
      firstRetryMs,
      maxRetryMs,
    });
    return { epoch, run };
  }

  async #leave(): Promise<void> {
    try {
      await this.#deps.duties.leave(this.name);
    } catch (error) {
      this.#deps.log.warn(
        'an exporter could not be given to another process; it waits for the last beat to be old',
        {
          exporter: this.name,
          error,
        },
      );
    }
  }
}
