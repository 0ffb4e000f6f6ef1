import { AppError, readErrorMessage } from '../domain/errors.ts';
import { sleep } from '../domain/waits.ts';
import type { BatchClient } from '../judge/batch/batch-client.ts';
import { JudgeError } from '../judge/judge-error.ts';
import { startDuties, type DutyOptions } from '../ownership/duties.ts';
import type { DutyStore } from '../store/contracts/duties.ts';
import { CHUNK_STATUSES, type BatchChunk } from '../store/contracts/judge-batches.ts';
import { describeUnknownProvider, describeWait } from './batch-faults.ts';
import { ChunkStep, type StepDeps } from './chunk-step.ts';

/** Work that one process of a store does at a time: only it talks to providers of batches. */
const DUTY = 'judge batches';

/** Waits between looks, milliseconds. */
export interface KeeperPace {
  /** Between looks for new chunks. */
  readonly lookEveryMs: number;
  /** First and longest wait before a batch is read again, or a failed step is repeated. */
  readonly firstWaitMs: number;
  readonly longestWaitMs: number;
}

const DEFAULT_PACE: KeeperPace = { lookEveryMs: 1_000, firstWaitMs: 1_000, longestWaitMs: 30_000 };

export interface KeeperDeps extends StepDeps {
  readonly duties: DutyStore;
  /** Returns the client of a provider; undefined for one that this process does not know. */
  readonly findClient: (provider: string, signal: AbortSignal) => BatchClient | undefined;
}

export interface KeeperOptions {
  readonly pace?: Partial<KeeperPace>;
  /** Times of the duty. */
  readonly duty?: DutyOptions;
}

/** Process that keeps the batches of a store. */
export interface BatchKeeper {
  /** Ends after the step under way. */
  stop(): Promise<void>;
}

/** Starts to keep the batches of all jobs of a store, while no other process does. */
export function startBatchKeeper(deps: KeeperDeps, options: KeeperOptions = {}): BatchKeeper {
  const keeper = new Keeper(deps, options);
  const stopping = new AbortController();
  const loop = keeper.loop(stopping.signal);
  return {
    stop: async () => {
      stopping.abort();
      await loop;
    },
  };
}

/** Next step of a chunk that waits. */
interface Wait {
  readonly untilMs: number;
  readonly waitMs: number;
}

class Keeper {
  readonly #deps: KeeperDeps;
  readonly #pace: KeeperPace;
  readonly #duties: ReturnType<typeof startDuties>;
  readonly #waits = new Map<string, Wait>();

  constructor(deps: KeeperDeps, { pace, duty }: KeeperOptions) {
    this.#deps = deps;
    this.#pace = { ...DEFAULT_PACE, ...pace };
    this.#duties = startDuties(deps.duties, duty);
    this.#duties.join([DUTY]);
  }

  async loop(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      try {
        await this.#look(stopping);
      } catch (error) {
        this.#deps.log.warn('batches of judges cannot be read; trying again', { error });
      }
      await sleep(this.#pace.lookEveryMs, stopping);
    }
    this.#duties.stop();
    await this.#duties.leave(DUTY).catch(() => undefined);
  }

  async #look(stopping: AbortSignal): Promise<void> {
    const epoch = await this.#duties.readEpoch(DUTY);
    if (epoch === undefined) {
      this.#waits.clear();
      return;
    }
    const check = async () => {
      if ((await this.#duties.readEpoch(DUTY)) !== epoch) {
        throw new AppError('another process keeps the batches of judges', {
          code: 'cancelled',
          stage: 'judge',
          retryable: true,
        });
      }
    };
    for (const chunk of await this.#deps.batches.openChunks()) {
      if (stopping.aborted) {
        return;
      }
      await this.#visit(chunk, check, stopping);
    }
  }

  /** Takes the next step of a chunk, unless it waits. A failure only delays it. */
  async #visit(chunk: BatchChunk, check: () => Promise<void>, stopping: AbortSignal): Promise<void> {
    const wait = this.#waits.get(chunk.id);
    if (wait !== undefined && performance.now() < wait.untilMs) {
      return;
    }
    try {
      const client = this.#deps.findClient(chunk.provider, stopping);
      if (client === undefined) {
        throw new JudgeError('judge_misconfigured', describeUnknownProvider(chunk.provider));
      }
      const next = await new ChunkStep(this.#deps, chunk, client, check).take();
      if (next === chunk.status) {
        await this.#note(chunk, '');
        this.#delay(chunk.id, wait);
      } else {
        this.#waits.delete(chunk.id);
      }
    } catch (error) {
      this.#deps.log.warn('a batch of a judge has to wait', {
        chunk: chunk.id,
        status: chunk.status,
        error: readErrorMessage(error),
      });
      this.#delay(chunk.id, wait);
      if (error instanceof JudgeError && !stopping.aborted) {
        await this.#noteFailure(chunk, error);
      }
    }
  }

  /** Stores why a chunk waits, for the status of its job. The step may have taken the chunk further. */
  async #noteFailure({ id, provider }: BatchChunk, error: JudgeError): Promise<void> {
    try {
      const [chunk] = await this.#deps.batches.chunks([id]);
      await (chunk === undefined ? undefined : this.#note(chunk, describeWait(error, provider)));
    } catch (cause) {
      this.#deps.log.debug('the error of a batch was not stored', { chunk: id, error: cause });
    }
  }

  /** An imported chunk keeps the error of its batch. */
  async #note(chunk: BatchChunk, error: string): Promise<void> {
    const isOpen = CHUNK_STATUSES.indexOf(chunk.status) < CHUNK_STATUSES.indexOf('imported');
    if (isOpen && chunk.error !== error) {
      await this.#deps.batches.writeChunk({ ...chunk, error });
    }
  }

  #delay(id: string, before: Wait | undefined): void {
    const { firstWaitMs, longestWaitMs } = this.#pace;
    const waitMs = Math.min(longestWaitMs, before === undefined ? firstWaitMs : before.waitMs * 1.5);
    this.#waits.set(id, { waitMs, untilMs: performance.now() + waitMs });
  }
}
