import { createReadStream } from 'node:fs';
import { glob, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createGunzip } from 'node:zlib';
import { z } from 'zod';
import { readErrorMessage } from '../domain/errors.ts';
import { type Batch, type SourceReader, unread } from './source.ts';

/** Lines of a piece, and the characters after which a piece ends. */
const PIECE_LINES = 200;
const PIECE_CHARS = 4 * 1024 * 1024;

/** Place in a file. A file that grew goes on at its line; another change begins it again. */
const Cursor = z.object({ size: z.number(), changedMs: z.number(), lines: z.number(), isDone: z.boolean() });

/** Creates the reader of files with an OTLP export request in each line. Each file has a cursor of its own. */
export function createFileReader(pattern: string): SourceReader {
  return {
    async *pull(cursors, signal): AsyncGenerator<Batch> {
      const paths = (await listFiles(pattern)).toSorted();
      if (paths.length === 0 && cursors.size === 0) {
        throw unread(`no file matches ${pattern}`);
      }
      for (const path of paths) {
        const { size, mtimeMs: changedMs } = await stat(path);
        const stored = Cursor.safeParse(cursors.get(path));
        const place = stored.success ? stored.data : { size: 0, changedMs: 0, lines: 0, isDone: false };
        const isSame = place.size === size && place.changedMs === changedMs;
        if (isSame && place.isDone) {
          continue;
        }
        const from = isSame || size > place.size ? place.lines : 0;
        yield* readFile(path, { size, changedMs, from, signal });
      }
    },
  };
}

async function listFiles(pattern: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const path of glob(resolve(pattern))) {
    paths.push(path);
  }
  return paths;
}

interface FileTerms {
  readonly size: number;
  readonly changedMs: number;
  /** Number of lines that were read before. */
  readonly from: number;
  readonly signal: AbortSignal;
}

async function* readFile(path: string, { size, changedMs, from, signal }: FileTerms): AsyncGenerator<Batch> {
  let lines = 0;
  let chars = 0;
  let requests: string[] = [];
  let isDone = true;
  for await (const { line, isWhole } of readLines(path, signal)) {
    // The end of a line that somebody still writes is read at a later look.
    isDone = isWhole || !isFresh(changedMs);
    lines += isDone ? 1 : 0;
    if (isDone && lines > from && line.trim() !== '') {
      requests.push(line);
      chars += line.length;
    }
    if (requests.length >= PIECE_LINES || chars >= PIECE_CHARS) {
      yield { requests, key: path, cursor: { size, changedMs, lines, isDone: false } };
      requests = [];
      chars = 0;
    }
  }
  yield { requests, key: path, cursor: { size, changedMs, lines, isDone } };
}

/** Time after a change of a file for which its last line may be incomplete, milliseconds. */
const WRITING_MS = 60_000;

function isFresh(changedMs: number): boolean {
  return Date.now() - changedMs < WRITING_MS;
}

/** Reads the lines of a file. `isWhole` is false for a last line without its end, to which somebody may still write. */
async function* readLines(path: string, signal: AbortSignal) {
  const bytes = createReadStream(path, { signal });
  const isPacked = path.endsWith('.gz');
  const input = isPacked ? bytes.pipe(createGunzip()) : bytes;
  // An error of the file ends the lines, too.
  bytes.on('error', (error) => input.destroy(error));
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for await (const chunk of input) {
      const parts = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n');
      rest = parts.pop() ?? '';
      for (const line of parts) {
        yield { line, isWhole: true };
      }
    }
  } catch (cause) {
    throw unread(`${path} could not be read: ${readErrorMessage(cause)}`, { cause });
  } finally {
    bytes.destroy();
  }
  if (rest !== '') {
    yield { line: rest, isWhole: isPacked };
  }
}
