import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidInputError, NotFoundError, readErrorMessage } from '../../domain/errors.ts';
import { decodeText, decodeTextChunks } from '../../domain/text-encoding.ts';

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

/**
 * Yields the lines of a text without their ends: of a million lines in a third of the time of `readline`.
 * @param onHeld called with the bytes of a line that has not ended
 */
export async function* readLines(
  bytes: AsyncIterable<Uint8Array | string>,
  onHeld?: (size: number) => void,
): AsyncGenerator<string> {
  let held: string[] = [];
  let heldBytes = 0;
  for await (const chunk of decodeTextChunks(bytes)) {
    const [first = '', ...further] = chunk.split('\n');
    const last = further.pop();
    if (last !== undefined) {
      yield held.join('') + first;
      yield* further;
      [held, heldBytes] = [[], 0];
    }
    const rest = last ?? first;
    held.push(rest);
    heldBytes += Buffer.byteLength(rest);
    onHeld?.(heldBytes);
  }
  yield held.join('');
}
