import { type AppError, toAppError } from '../../domain/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Delivery, ScoreExporter } from './score-exporter.ts';
import type { ScoreFeed } from '../../store/contracts/stores.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { sleep } from '../../domain/waits.ts';

export interface ScoreExportLoopOptions {
  /** Interval between reads of new scores, milliseconds. Default 1,000. */
  readonly intervalMs?: number;
  /** Age after which a score is not sent, milliseconds. Default 24 h. */
  readonly lookbackMs?: number;
  /** First wait after a failure, milliseconds; doubled up to the last. Defaults 1,000 and 60,000. */
  readonly firstRetryMs?: number;
  readonly maxRetryMs?: number;
  /** Longest time that `stop` continues to send, milliseconds. Default 5,000. */
  readonly drainMs?: number;
}

export interface ScoreExportLoopDeps {
  readonly feed: ScoreFeed;
  readonly log: Log;
  /** Unix milliseconds by the clock of the store, which sets the times of the scores. */
  readonly now: () => number | Promise<number>;
  /** Random number in [0, 1). */
  readonly random: () => number;
}

interface ScoreExportCounts {
  delivered: number;
  rejected: number;
  failedDeliveries: number;
}

export interface ScoreExportLoop {
  start(): void;
  /** Sends the remaining scores within `drainMs`, then shuts the exporters down. May be called before `start` and twice. */
  stop(): Promise<void>;
  /** Returns the counts since the start, by exporter name. */
  counts(): ReadonlyMap<string, Readonly<ScoreExportCounts>>;
}

const DEFAULTS = {
  intervalMs: 1000,
  lookbackMs: DAY_MS,
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
  const tallies = new Map(
    exporters.map((exporter) => [exporter.name, { delivered: 0, rejected: 0, failedDeliveries: 0 }]),
  );
  let running: Promise<void>[] = [];
  let stopped: Promise<void> | undefined;

  function createRunner(exporter: ScoreExporter): Runner {
    const counts = tallies.get(exporter.name) ?? { delivered: 0, rejected: 0, failedDeliveries: 0 };
    return { exporter, settings, deps, counts, stopping: stopping.signal, giveUp: giveUp.signal };
  }

  async function stop(): Promise<void> {
    stopping.abort();
    const timer = setTimeout(() => giveUp.abort(), settings.drainMs);
    await Promise.all(running);
    clearTimeout(timer);
    await Promise.all(exporters.map((exporter) => shutDownExporter(exporter, deps.log)));
  }

  return {
    start() {
      if (running.length === 0 && stopped === undefined) {
        running = exporters.map((exporter) => tail(createRunner(exporter)));
      }
    },
    stop: () => (stopped ??= stop()),
    counts: () => tallies,
  };
}

interface Runner {
  readonly exporter: ScoreExporter;
  readonly settings: Required<ScoreExportLoopOptions>;
  readonly deps: ScoreExportLoopDeps;
  readonly counts: ScoreExportCounts;
  readonly stopping: AbortSignal;
  readonly giveUp: AbortSignal;
}

async function tail(runner: Runner): Promise<void> {
  let failures = 0;
  while (!runner.stopping.aborted) {
    const { more, failure } = await pass(runner);
    failures = failure === undefined ? 0 : failures + 1;
    if (!more) {
      await sleep(computeWaitMs(runner, failures, failure), runner.stopping);
    }
  }
  // Sends the scores written until the stop. It does not wait for a receiver that failed: the next start sends them.
  for (let more = failures === 0; more && !runner.giveUp.aborted;) {
    ({ more } = await pass(runner));
  }
}

function computeWaitMs({ settings, deps }: Runner, failures: number, failure: AppError | undefined): number {
  if (failure === undefined) {
    return settings.intervalMs;
  }
  const doubled = Math.min(settings.firstRetryMs * 2 ** Math.min(failures - 1, 30), settings.maxRetryMs);
  const jittered = doubled * (0.5 + deps.random() / 2);
  return Math.max(jittered, Math.min(failure.retryAfterMs ?? 0, settings.maxRetryMs));
}

/** Reads, delivers and records one batch. `more`: another batch is waiting. */
async function pass(runner: Runner): Promise<{ more: boolean; failure?: AppError }> {
  const { exporter, settings, deps, counts } = runner;
  try {
    const fromMs = (await deps.now()) - settings.lookbackMs;
    const scores = await deps.feed.unexported(exporter.name, fromMs, exporter.maxBatch);
    if (scores.length === 0) {
      return { more: false };
    }
    const live = scores.filter((score) => !score.isDeleted);
    const delivery = await exporter.deliver(live, runner.giveUp);
    // A score that was withdrawn before it was sent is recorded without sending.
    const done = [...delivery.delivered, ...delivery.rejected, ...scores.filter((score) => score.isDeleted)];
    if (done.length > 0) {
      await deps.feed.markExported(exporter.name, done);
    }
    counts.delivered += delivery.delivered.length;
    counts.rejected += delivery.rejected.length;
    return report(runner, delivery, scores.length === exporter.maxBatch);
  } catch (error) {
    const failure = toAppError(error, { stage: 'export', retryable: true });
    return report(runner, { delivered: [], rejected: [], failure }, false);
  }
}

function report(
  { exporter, deps, counts }: Runner,
  { rejected, failure }: Delivery,
  more: boolean,
): { more: boolean; failure?: AppError } {
  if (rejected.length > 0) {
    deps.log.error('the receiver refuses scores for good', {
      exporter: exporter.name,
      count: rejected.length,
      firstScoreId: rejected[0]?.scoreId,
    });
  }
  if (failure === undefined) {
    return { more };
  }
  counts.failedDeliveries += 1;
  deps.log.warn('scores could not be exported, trying again', { exporter: exporter.name, error: failure });
  return { more: false, failure };
}

async function shutDownExporter(exporter: ScoreExporter, log: Log): Promise<void> {
  try {
    await exporter.shutdown();
  } catch (error) {
    log.warn('an exporter did not stop cleanly', { exporter: exporter.name, error });
  }
}
