import { InvalidInputError } from '../../domain/errors.ts';

/**
 * Does some work under a lock that one process at a time can have. The kernel releases it when the process is killed.
 * @param refusal message of the error when another process has the lock
 */
export async function withFileLock<T>(path: string, refusal: string, work: () => Promise<T>): Promise<T> {
  const { tryFileLock } = await import('../../store/embedded/ownership/file-lock.ts');
  const lock = tryFileLock(path);
  if (lock === undefined) {
    throw new InvalidInputError(refusal);
  }
  try {
    return await work();
  } finally {
    lock.release();
  }
}
