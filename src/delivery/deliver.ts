import { AppError } from '../domain/errors.ts';
import { sleep } from '../domain/waits.ts';
import type { DeadLetter } from '../store/contracts/dead-letters.ts';
import type { Log } from '../telemetry/log.ts';

export type Outcome = { readonly kind: 'delivered'; readonly isSkipped?: true } | Failure;

/**
 * Why a message was not delivered. `refused`: the receiver does not accept it. `failed`: either the message or the receiver is the
 * cause. `away`: for now, every other message would fail too. `unknown`: the receiver does not know the scored trace yet. `impossible`:
 * the receiver can never do it.
 */
export interface Failure {
  readonly kind: 'refused' | 'failed' | 'away' | 'unknown' | 'impossible';
  readonly error: AppError;
}

/** Counts of a receiver since the start: scores or alerts. */
export interface Counts {
  delivered: number;
  dead: number;
  /** Attempts that failed and are repeated. */
  failures: number;
  /** Scores that the receiver has no place for, or is not configured to get. */
  skipped?: number;
  /** Scores that are not delivered yet, of the last read. */
  waiting?: number;
  /** Error of the last attempt; undefined after a delivery. */
  lastError?: string | undefined;
}

/** Counts that outlive a loop: a reload starts another one. */
export type CountsByReceiver = Map<string, Counts>;

/** Receivers of this process, among the processes on the same store. */
export interface ReceiverDuties {
  /** Returns the number of the epoch in which this process has the receiver; undefined while another process has it. */
  readEpoch(receiver: string): Promise<number | undefined>;
  /** Gives the receiver to another process. */
  leave(receiver: string): Promise<void>;
}

export interface EpochTerms {
  readonly counts: Counts;
  /** Throws `DutyLost` when another process may have the receiver. Throws when the store does. */
  readonly checkDuty: () => Promise<void>;
  /** Aborted when nothing more may be sent. */
  readonly giveUp: AbortSignal;
}

/** Deliveries to one receiver in one epoch: while this process has the duty without a break. */
export interface Delivery {
  /** True while the receiver takes nothing. */
  readonly isDown: boolean;
  /** Sends what is due. Returns true when more is due. Throws `DutyLost`, and when the store does. */
  pass(): Promise<boolean>;
}

export interface DeliveryTask {
  readonly name: string;
  begin(terms: EpochTerms): Delivery;
}

export interface LoopTimes {
  /** Interval between reads of the store, milliseconds. */
  readonly intervalMs: number;
  /** Longest time that a stop continues to send, milliseconds. */
  readonly drainMs: number;
}

export interface DeliveryLoop {
  /** Sends the rest within `drainMs`, and gives the receivers to other processes. May be called twice. */
  stop(): Promise<void>;
  /** Returns the counts since the start, by receiver. */
  counts(): ReadonlyMap<string, Readonly<Counts>>;
}

interface LogNames {
  readonly receiver: string;
  readonly items: string;
  readonly sends: string;
}

export const EXPORTER_NAMES: LogNames = { receiver: 'exporter', items: 'scores', sends: 'exports' };
export const CHANNEL_NAMES: LogNames = { receiver: 'channel', items: 'alerts', sends: 'sends' };

export class DutyLost extends AppError {
  override readonly name = 'DutyLost';
  constructor(receiver: string) {
    super(`another process has ${receiver}`, { code: 'cancelled', stage: 'export', retryable: true });
  }
}

/** Longest wait while the store is unavailable, milliseconds. */
const MAX_STORE_WAIT_MS = 60_000;

export interface LoopDeps {
  readonly duties: ReceiverDuties;
  readonly log: Log;
  readonly countsByReceiver?: CountsByReceiver | undefined;
}

/** Starts a loop for each receiver, so that a failing receiver delays no other. */
export function startDelivery(
  tasks: readonly DeliveryTask[],
  { intervalMs, drainMs }: LoopTimes,
  names: LogNames,
  deps: LoopDeps,
): DeliveryLoop {
  const stopping = new AbortController();
  const giveUp = new AbortController();
  const loops = tasks.map((task) => new ReceiverLoop(task, names, giveUp.signal, deps));
  const running = loops.map((loop) => loop.run(intervalMs, stopping.signal));
  let stopped: Promise<void> | undefined;

  async function stop(): Promise<void> {
    stopping.abort();
    const timer = setTimeout(() => giveUp.abort(), drainMs);
    await Promise.all(running);
    clearTimeout(timer);
  }

  return {
    stop: () => (stopped ??= stop()),
    counts: () => new Map(loops.map(({ name, counts }) => [name, counts])),
  };
}

class ReceiverLoop {
  readonly name: string;
  readonly counts: Counts;
  readonly #task: DeliveryTask;
  readonly #names: LogNames;
  readonly #giveUp: AbortSignal;
  readonly #deps: LoopDeps;
  #work: { readonly epoch: number; readonly delivery: Delivery } | undefined;
  #storeFailures = 0;

  constructor(task: DeliveryTask, names: LogNames, giveUp: AbortSignal, deps: LoopDeps) {
    this.name = task.name;
    this.#task = task;
    this.#names = names;
    this.#giveUp = giveUp;
    this.#deps = deps;
    const former: Partial<Counts> = deps.countsByReceiver?.get(task.name) ?? {};
    const { delivered = 0, dead = 0, failures = 0, skipped } = former;
    this.counts = { delivered, dead, failures, ...(skipped === undefined ? {} : { skipped }) };
    deps.countsByReceiver?.set(task.name, this.counts);
  }

  async run(intervalMs: number, stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      if (!(await this.#pass())) {
        const waitMs = intervalMs * 2 ** Math.min(this.#storeFailures, 30);
        await sleep(Math.min(waitMs, Math.max(intervalMs, MAX_STORE_WAIT_MS)), stopping);
      }
    }
    // Sends what was stored until the stop. It does not wait for a receiver that is down: the next process sends the rest.
    const isHealthy = () => this.#storeFailures === 0 && this.#work?.delivery.isDown !== true;
    for (let more = isHealthy(); more && !this.#giveUp.aborted;) {
      more = (await this.#pass()) && isHealthy();
    }
    await this.#leave();
  }

  /** Sends what is due, if this process has the receiver. Returns true when more is due. */
  async #pass(): Promise<boolean> {
    const { duties, log } = this.#deps;
    const { receiver, items, sends } = this.#names;
    try {
      const epoch = await duties.readEpoch(this.name);
      if (this.#work?.epoch !== epoch) {
        this.#work = epoch === undefined ? undefined : { epoch, delivery: this.#begin(epoch) };
      }
      const more = (await this.#work?.delivery.pass()) ?? false;
      this.#storeFailures = 0;
      return more;
    } catch (error) {
      if (error instanceof DutyLost) {
        log.info(`another process ${sends} now; work that was begun is dropped`, { [receiver]: this.name });
        this.#work = undefined;
        return false;
      }
      this.#storeFailures += 1;
      log.warn(`${items} could not be read or recorded, trying again`, { [receiver]: this.name, error });
      return false;
    }
  }

  #begin(epoch: number): Delivery {
    return this.#task.begin({
      counts: this.counts,
      giveUp: this.#giveUp,
      checkDuty: async () => {
        if ((await this.#deps.duties.readEpoch(this.name)) !== epoch) {
          throw new DutyLost(`the ${this.#names.receiver} ${this.name}`);
        }
      },
    });
  }

  async #leave(): Promise<void> {
    try {
      await this.#deps.duties.leave(this.name);
    } catch (error) {
      const { receiver } = this.#names;
      const article = receiver === 'exporter' ? 'an' : 'a';
      this.#deps.log.warn(
        `${article} ${receiver} could not be given to another process; it waits for the last beat to be old`,
        { [receiver]: this.name, error },
      );
    }
  }
}

export interface RetryTimes {
  /** First wait after a failure, milliseconds; doubled up to the last. */
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
  /** Random number in [0, 1). */
  readonly random: () => number;
}

/** Computes the wait after a number of failures in a row, milliseconds. */
export function backoffMs(failures: number, { firstRetryMs, maxRetryMs, random }: RetryTimes): number {
  const doubled = Math.min(firstRetryMs * 2 ** Math.min(failures - 1, 30), maxRetryMs);
  return doubled * (0.5 + random() / 2);
}

/** Builds the dead letter of what a receiver did not take. `content` is all that sends it again. */
export function buildDeadLetter(
  facts: Pick<DeadLetter, 'id' | 'source' | 'tenant' | 'signal' | 'attempts'>,
  { code, message }: AppError,
  content: object,
): DeadLetter {
  const body = Buffer.from(JSON.stringify(content));
  const place = { topic: '', partition: 0, firstOffset: 0n, lastOffset: 0n };
  return { ...facts, ...place, encoding: 'json', body, code, reason: message };
}
