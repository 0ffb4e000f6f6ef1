import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidInputError, NotFoundError, readErrorMessage } from '../../domain/errors.ts';
import { decodeText } from '../../domain/text-encoding.ts';

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

/** Reads the password in the file of `--password-file`, without the end of its line. */
export async function readPasswordFile(cwd: string, name: string): Promise<string> {
  try {
    return decodeText(await readFile(resolve(cwd, name))).trimEnd();
  } catch (error) {
    throw new InvalidInputError(`--password-file ${name} cannot be read: ${readErrorMessage(error)}`);
  }
}
