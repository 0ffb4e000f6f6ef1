import { createReadStream, existsSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { DecodedTraces } from '../../conventions/index.ts';
import { MIB } from '../../domain/byte-sizes.ts';
import { InvalidInputError, NotFoundError } from '../../domain/errors.ts';
import type { TraceData } from '../../domain/trace/span.ts';
import { tryParseJson } from '../../domain/unknown-values.ts';
import { cleanLine } from '../show/clean-text.ts';
import type { CommandContext } from '../command.ts';
import { findInputFile, readLines } from './input-file.ts';

const MAX_PROBLEMS = 5;

/** Most bytes of one JSON document: it is decoded as a whole. */
const MAX_DOCUMENT_BYTES = 256 * MIB;

/** Characters of a pattern of file names. */
const PATTERN = /[*?[{]/u;

/** Finds the files of names and patterns, in order. Throws a `NotFoundError` for what names no file. */
export async function findTraceFiles(
  inputs: readonly string[],
  { cwd }: Pick<CommandContext, 'cwd'>,
): Promise<string[]> {
  const found = new Set<string>();
  for (const input of inputs) {
    const files = await expand(input, cwd);
    if (files.length === 0) {
      throw new NotFoundError(`${input}: no file has a name like this`);
    }
    files.forEach((file) => found.add(file));
  }
  return [...found];
}

async function expand(input: string, cwd: string): Promise<string[]> {
  if (input === '-') {
    return [input];
  }
  if (PATTERN.test(input) && !existsSync(resolve(cwd, input))) {
    const files: string[] = [];
    for await (const entry of glob(input, { cwd, withFileTypes: true })) {
      if (!entry.isDirectory()) {
        files.push(resolve(entry.parentPath, entry.name));
      }
    }
    return files.toSorted();
  }
  return [await findInputFile(cwd, input)];
}

/**
 * Reads files of OTLP JSON (`-`: stdin) and passes on the traces of each line or document as it is read. Prints to stderr what
 * could not be decoded. Throws `InvalidInputError` when nothing could be decoded.
 * @param maxBytes limit of all inputs together
 */
export async function readTraceFiles(
  inputs: readonly string[],
  context: Pick<CommandContext, 'cwd' | 'stdin' | 'log' | 'out'>,
  onTraces: (parts: readonly TraceData[]) => void,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { decodeTraces } = await import('../../conventions/index.ts');
  const files = await findTraceFiles(inputs, context);
  const problems: string[] = [];
  let problemCount = 0;
  let hasTraces = false;
  const limit = limitBytes(maxBytes);
  for (const file of files) {
    context.log.debug('reading', { file });
    const name = file === '-' ? 'stdin' : file;
    const bytes = limit(file === '-' ? context.stdin : createReadStream(file), name);
    for await (const decoded of decodeDocuments(bytes, name, decodeTraces)) {
      hasTraces ||= decoded.traces.length > 0;
      onTraces(decoded.traces);
      problemCount += decoded.problems.length;
      const prefix = files.length === 1 ? '' : `${name}: `;
      const shown = decoded.problems.slice(0, MAX_PROBLEMS - problems.length);
      problems.push(...shown.map((problem) => cleanLine(`${prefix}${problem}`)));
    }
  }
  if (!hasTraces) {
    const because = problems.length === 0 ? '' : ` (${problems.join('; ')})`;
    throw new InvalidInputError(
      `${inputs.join(', ')}: no spans found${because}; expected OTLP JSON: export requests ({"resourceSpans":[…]}), one on each line`,
    );
  }
  problems.forEach((problem) => context.out.talk(`skipped: ${problem}`));
  if (problemCount > problems.length) {
    context.out.talk(`skipped: ${problemCount - problems.length} more`);
  }
}

/** Returns a function that passes bytes on and throws an `InvalidInputError` when all its inputs together have too many. */
function limitBytes(maxBytes: number) {
  let left = maxBytes;
  return async function* (chunks: AsyncIterable<Buffer | string>, name: string): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      left -= bytes.byteLength;
      if (left < 0) {
        throw new InvalidInputError(
          `${name}: more than ${maxBytes / MIB} MiB in all; split the input, or send it to spanscore serve`,
        );
      }
      yield bytes;
    }
  };
}

/** Decodes a value, or the text of a document. */
type Decode = (input: unknown, place?: string) => DecodedTraces;

/**
 * Decodes a text line by line when its first line is JSON by itself, and as one document otherwise. So only one line or one
 * document is in memory.
 */
async function* decodeDocuments(
  bytes: AsyncIterable<Buffer>,
  name: string,
  decode: Decode,
): AsyncGenerator<DecodedTraces> {
  const document: string[] = [];
  let documentBytes = 0;
  let isLines: boolean | undefined;
  let number = 0;
  const checkSize = (size: number) => {
    if (size > MAX_DOCUMENT_BYTES) {
      throw new InvalidInputError(
        `${name}: a JSON document of more than ${MAX_DOCUMENT_BYTES / MIB} MiB; write one export request on each line, or send it to spanscore serve`,
      );
    }
  };
  for await (const line of readLines(bytes, checkSize)) {
    number += 1;
    const text = line.trim();
    if (text === '' && isLines !== false) {
      continue;
    }
    if (isLines !== false) {
      const parsed = tryParseJson(text);
      isLines ??= parsed.ok;
      if (isLines) {
        yield parsed.ok
          ? decode(parsed.value, `line ${number}`)
          : { traces: [], problems: [`line ${number} is not JSON: ${parsed.reason}`] };
        continue;
      }
    }
    document.push(text);
    documentBytes += Buffer.byteLength(line) + 1;
    checkSize(documentBytes);
  }
  if (document.length > 0) {
    yield decode(document.join('\n'));
  }
}
