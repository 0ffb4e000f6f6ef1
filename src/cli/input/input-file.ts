import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidInputError, NotFoundError, readErrorMessage } from '../../domain/errors.ts';

/**
 * Returns the path of a file to read, which may be a pipe (`<(…)`) or a device. Throws a `NotFoundError` for one that is not there, and
 * an `InvalidInputError` for a folder.
 */
export async function findInputFile(cwd: string, name: string): Promise<string> {
  const path = resolve(cwd, name);
  const info = await stat(path).catch((cause: unknown) => {
    throw new NotFoundError(`${path} cannot be read: ${readErrorMessage(cause)}`);
  });
  if (info.isDirectory()) {
    throw new InvalidInputError(`${path} is not a file`);
  }
  return path;
}
