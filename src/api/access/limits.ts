import { MINUTE_MS, SECOND_MS } from '../../domain/durations.ts';
import type { Log } from '../../telemetry/log.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import PQueue from 'p-queue';
import { AppError } from '../../domain/errors.ts';

/** Count of requests by sender. */
export type RequestRate = ReturnType<typeof createRequestRate>;

/**
 * Creates a count of requests: each sender may send `perMinute` at once, and one more for each part of a minute. There are as many
 * senders as tokens.
 * @param nowMs clock that never goes back, milliseconds
 */
export function createRequestRate(perMinute: number, nowMs: () => number) {
  const spacingMs = MINUTE_MS / perMinute;
  /** Time at which all requests of a sender are made up for. */
  const settledMs = new Map<string, number>();
  return {
    /** Counts a request. Returns the time until the sender may ask again, milliseconds; 0 for a request within the limit. */
    take(sender: string): number {
      const atMs = nowMs();
      const nextMs = Math.max(settledMs.get(sender) ?? 0, atMs) + spacingMs;
      const waitMs = nextMs - MINUTE_MS - atMs;
      if (waitMs > 0) {
        return waitMs;
      }
      settledMs.set(sender, nextMs);
      return 0;
    },
  };
}

/**
 * Creates the report of requests whose token is unknown. A metric counts each. The log names the first one at once, and the number of
 * further ones once a minute.
 */
export function createWrongTokenReport(
  log: Log,
  metrics: Pick<Metrics, 'add'>,
): (address: string, proof: 'bearer' | 'sign-in') => void {
  let unlogged = 0;
  let timer: NodeJS.Timeout | undefined;
  let last = '';
  const write = () => {
    log.warn('requests came with a token that is not in auth.tokens', { requests: unlogged, address: last });
    unlogged = 0;
    timer = setTimeout(() => {
      timer = undefined;
      if (unlogged > 0) {
        write();
      }
    }, MINUTE_MS).unref();
  };
  return (address, proof) => {
    metrics.add('spanscore.api.tokens.wrong', 1, { proof });
    unlogged += 1;
    last = address;
    if (timer === undefined) {
      write();
    }
  };
}

/** Whole traces that are read at a time: one may have 30 MB, and all of it is in memory. */
const AT_A_TIME = 2;
/** Requests that wait for their turn, and the longest time of a wait, milliseconds: shorter than the limit of a request. */
const MAX_WAITING = 32;
const MAX_WAIT_MS = 20 * SECOND_MS;

/** Turns of the whole process, because its memory is what they spare. */
const turns = new PQueue({ concurrency: AT_A_TIME });

function refuse(): never {
  throw new AppError(`${AT_A_TIME} whole traces are read at a time, and too many requests wait: try again`, {
    code: 'overloaded',
    stage: 'store',
    retryable: true,
  });
}

/** Reads a whole trace when it is its turn. Throws `AppError` when too many requests wait, or this one has waited too long. */
export async function readWhole<T>(read: () => Promise<T>): Promise<T> {
  if (turns.size >= MAX_WAITING) {
    refuse();
  }
  const untilMs = performance.now() + MAX_WAIT_MS;
  return turns.add(() => (performance.now() > untilMs ? refuse() : read()));
}
