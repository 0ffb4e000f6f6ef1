import { createReadStream } from 'node:fs';
import { glob, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createGunzip } from 'node:zlib';
import { z } from 'zod';
import { type AppError, readErrorMessage } from '../domain/errors.ts';
import type { FilePlace, FileRows, ListedFile } from '../store/contracts/sources.ts';
import type { EngineFiles } from '../store/foreign/engine-files.ts';
import { type Batch, type SourceReader, unread } from './source.ts';

/** Records of a piece, and the characters after which a piece ends. A line is a request, with many records, or a member of one. */
const PIECE_LINES = 200;
const PIECE_MEMBERS = 2_000;
const PIECE_CHARS = 4 * 1024 * 1024;

/** Lines that the engine reads at a time: it keeps them on disk until they are read. */
const PAGE = 50_000;

/** Place in a file. A file of lines that grew goes on at its line; another change begins it again. */
const Cursor = z.object({ size: z.number(), changedMs: z.number(), lines: z.number(), isDone: z.boolean() });

/**
 * Creates the reader of files with an OTLP export request in each line, or with rows in Parquet. Each file has a cursor of its own. A file
 * that cannot be read holds up no other file.
 */
export function createFileReader(place: FilePlace, engine: EngineFiles): SourceReader {
  const isInS3 = place.path.startsWith('s3://');
  const listFiles = async () => (isInS3 ? engine.list(place) : listOnDisk(place.path));

  async function* readFile({ path, size, changedMs }: ListedFile, from: number, signal: AbortSignal) {
    const isForEngine = isInS3 || /\.parquet$/iu.test(path);
    const lines = isForEngine
      ? readByEngine(engine, { ...place, path }, from)
      : readLines(path, { isFresh: Date.now() - changedMs < WRITING_MS, from, signal });
    for await (const { requests, read, isDone } of cutPieces(lines)) {
      yield { requests, key: path, cursor: { size, changedMs, lines: from + read, isDone } };
    }
  }

  return {
    async *pull(cursors, signal): AsyncGenerator<Batch> {
      const files = await listFiles();
      if (files.length === 0 && cursors.size === 0) {
        throw unread(`no file matches ${place.path}`);
      }
      let failed: AppError | undefined;
      for (const file of files) {
        const from = findStart(file, cursors.get(file.path));
        try {
          yield* from === undefined ? [] : readFile(file, from, signal);
        } catch (cause) {
          signal.throwIfAborted();
          failed ??= unread(`${file.path} could not be read: ${readErrorMessage(cause)}`, { cause });
        }
      }
      if (failed !== undefined) {
        throw failed;
      }
    },
  };
}

/** Returns the number of lines that were read; undefined: the file was read to its end. */
function findStart({ path, size, changedMs }: ListedFile, cursor: unknown): number | undefined {
  const { data: place } = Cursor.safeParse(cursor);
  const isSame = place?.size === size && place.changedMs === changedMs;
  if (isSame) {
    return place.isDone ? undefined : place.lines;
  }
  const hasGrown = place !== undefined && size > place.size && !path.endsWith('.parquet');
  return hasGrown ? place.lines : 0;
}

async function listOnDisk(pattern: string): Promise<ListedFile[]> {
  const files: ListedFile[] = [];
  for await (const path of glob(resolve(pattern))) {
    const { size, mtimeMs: changedMs } = await stat(path);
    files.push({ path, size, changedMs });
  }
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

interface Line {
  readonly line: string;
  /** List of which the line is a member; undefined: it is a request. */
  readonly list?: FileRows['list'];
  /** False for a last line without its end, to which somebody may still write. */
  readonly isWhole: boolean;
}

/** Makes export requests of lines, a piece at a time. `read` counts all lines so far. */
async function* cutPieces(lines: AsyncIterable<Line>) {
  let read = 0;
  let chars = 0;
  let piece: string[] = [];
  let list: FileRows['list'];
  let isDone = true;
  const cut = () => {
    const requests = list === undefined || piece.length === 0 ? piece : [`{"${list}":[${piece.join(',')}]}`];
    piece = [];
    chars = 0;
    return requests;
  };
  for await (const next of lines) {
    const { line, isWhole } = next;
    ({ list } = next);
    isDone = isWhole;
    read += isWhole ? 1 : 0;
    if (isWhole && line.trim() !== '') {
      piece.push(line);
      chars += line.length;
    }
    if (piece.length >= (list === undefined ? PIECE_LINES : PIECE_MEMBERS) || chars >= PIECE_CHARS) {
      yield { requests: cut(), read, isDone: false };
    }
  }
  yield { requests: cut(), read, isDone };
}

async function* readByEngine(engine: EngineFiles, place: FilePlace, from: number): AsyncGenerator<Line> {
  for (let at = from, count = PAGE; count === PAGE; at += count) {
    const { list, bytes } = await engine.read(place, at, PAGE);
    count = 0;
    for await (const { line } of splitLines(bytes)) {
      count += 1;
      yield { line, list, isWhole: true };
    }
  }
}

/** Time after a change of a file for which its last line may be incomplete, milliseconds. */
const WRITING_MS = 60_000;

interface DiskTerms {
  /** True for a file that changed just now. */
  readonly isFresh: boolean;
  /** Number of lines that were read before. */
  readonly from: number;
  readonly signal: AbortSignal;
}

/** Reads the lines of a file. The end of a line that somebody still writes is read at a later look. */
async function* readLines(path: string, { isFresh, from, signal }: DiskTerms): AsyncGenerator<Line> {
  const bytes = createReadStream(path, { signal });
  const isPacked = path.endsWith('.gz');
  const input = isPacked ? bytes.pipe(createGunzip()) : bytes;
  // An error of the file ends the lines, too.
  bytes.on('error', (error) => input.destroy(error));
  let at = 0;
  try {
    for await (const { line, hasEnd } of splitLines(input)) {
      at += 1;
      if (at > from) {
        yield { line, isWhole: hasEnd || isPacked || !isFresh };
      }
    }
  } finally {
    bytes.destroy();
  }
}

async function* splitLines(bytes: AsyncIterable<Uint8Array>) {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of bytes) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) {
      yield { line, hasEnd: true };
    }
  }
  if (rest !== '') {
    yield { line: rest, hasEnd: false };
  }
}
