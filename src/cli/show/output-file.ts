import { createWriteStream, openSync, rmSync } from 'node:fs';
import { realpath, rename, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { InvalidInputError, readErrorMessage } from '../../domain/errors.ts';
import type { CommandContext } from '../command.ts';

/** Content of a file, in order. */
type Chunks = AsyncIterable<string | Uint8Array>;

/**
 * Writes a file that this user alone can read, and that has its name only when it is whole: without that, or after Ctrl-C, a former file
 * stays. Writes into a pipe or a device as it is. Throws an `InvalidInputError` for a path that cannot be written.
 */
export async function writeOutputFile(
  { cwd, signal }: Pick<CommandContext, 'cwd' | 'signal'>,
  name: string,
  chunks: Chunks,
) {
  const file = resolve(cwd, name);
  const found = await stat(file).catch(() => undefined);
  try {
    const bytes =
      found === undefined || found.isFile()
        ? await replaceFile(await realpath(file).catch(() => file), chunks, signal)
        : await writeStream(createWriteStream(file), chunks, signal);
    return { file, bytes };
  } catch (error) {
    if (isFileError(error)) {
      throw new InvalidInputError(`${file} cannot be written: ${readErrorMessage(error)}`);
    }
    throw error;
  }
}

/**
 * Writes a file beside another one, and renames it when it is whole. The process may end just after the signal, so the file is opened
 * and removed without a wait: no opening is under way that would make it anew.
 */
async function replaceFile(path: string, chunks: Chunks, signal: AbortSignal): Promise<number> {
  signal.throwIfAborted();
  const partial = `${path}.${process.pid}.partial`;
  const remove = () => rmSync(partial, { force: true });
  const stream = createWriteStream(partial, { fd: openSync(partial, 'w', 0o600) });
  signal.addEventListener('abort', remove);
  try {
    const bytes = await writeStream(stream, chunks, signal);
    await rename(partial, path);
    return bytes;
  } catch (error) {
    remove();
    throw error;
  } finally {
    signal.removeEventListener('abort', remove);
  }
}

async function writeStream(
  stream: ReturnType<typeof createWriteStream>,
  chunks: Chunks,
  signal: AbortSignal,
): Promise<number> {
  await pipeline(Readable.from(chunks, { objectMode: false }), stream, { signal });
  return stream.bytesWritten;
}

/** Codes of writes that find no room. */
const NO_ROOM = new Set<unknown>(['ENOSPC', 'EDQUOT']);

/** Returns true for an error of the file; the store that is read may fail, too. */
function isFileError(error: unknown): boolean {
  return (
    error instanceof Error &&
    'syscall' in error &&
    ('path' in error || ('code' in error && NO_ROOM.has(error.code)))
  );
}

/** Reports a written file: to people on stderr, and with `json` as the document of the command. */
export async function reportFile(
  out: CommandContext['out'],
  facts: { readonly file: string; readonly format: string } & Readonly<Record<string, unknown>>,
  message: string,
): Promise<void> {
  await (out.json ? out.document(facts, () => message) : out.talk(message));
}
