import PQueue from 'p-queue';
import { SECOND_MS } from '../../domain/durations.ts';
import { AppError } from '../../domain/errors.ts';

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
