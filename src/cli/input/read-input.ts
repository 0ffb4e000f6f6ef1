import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidInputError, readErrorMessage, NotFoundError } from '../../domain/errors.ts';
import type { CommandContext } from '../command.ts';

/** Byte limit of all inputs together, because they stay in memory. */
const MAX_INPUT_BYTES = 256 * 1024 * 1024;

/** Reads files (`-`: stdin) in order. */
export async function readInputs(
  names: readonly string[],
  context: Pick<CommandContext, 'cwd' | 'stdin' | 'log'>,
): Promise<string[]> {
  const texts: string[] = [];
  let left = MAX_INPUT_BYTES;
  for (const name of names) {
    context.log.debug('reading', { name });
    const text =
      name === '-' ? await readStdin(context.stdin, left) : await readOne(resolve(context.cwd, name), left);
    left -= Buffer.byteLength(text);
    texts.push(text);
  }
  return texts;
}

async function readOne(path: string, limitBytes: number): Promise<string> {
  const info = await stat(path).catch((cause: unknown) => {
    throw new NotFoundError(`${path} cannot be read: ${readErrorMessage(cause)}`);
  });
  if (!info.isFile()) {
    throw new InvalidInputError(`${path} is not a file`);
  }
  if (info.size > limitBytes) {
    throw tooLarge(path);
  }
  return readFile(path, 'utf8');
}

async function readStdin(stdin: AsyncIterable<Buffer | string>, limitBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stdin) {
    const buffer = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    bytes += buffer.byteLength;
    if (bytes > limitBytes) {
      throw tooLarge('stdin');
    }
    chunks.push(buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function tooLarge(name: string): InvalidInputError {
  return new InvalidInputError(
    `${name}: more than ${MAX_INPUT_BYTES / 1024 / 1024} MiB in all; split the input, or send it to spanscore serve`,
  );
}
