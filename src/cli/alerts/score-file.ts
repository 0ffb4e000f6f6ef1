import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { checkValue } from '../../config/index.ts';
import { InvalidInputError, readErrorMessage } from '../../domain/errors.ts';
import { decodeTextChunks } from '../../domain/text-encoding.ts';
import { SCORE_STEPS } from '../../monitors/bucket.ts';
import type { ScoreOfSeries } from '../../app/backtest/backtest-scores.ts';
import type { CommandContext } from '../command.ts';
import { findInputFile } from '../input/input-file.ts';

/** Series of lines that name no series. */
const UNNAMED_SERIES = 'scores';

const lineSchema = z.object({
  series: z.string().default(UNNAMED_SERIES),
  scoredAt: z.iso.datetime({
    offset: true,
    error: 'write a date and time with its zone, like 2026-01-01T00:03:10Z',
  }),
  score: z.number().min(0).max(1),
});

/**
 * Reads the lines `{ series?, scoredAt, score }` of a file (`-`: stdin) in order. Skips empty lines. Throws an
 * `InvalidInputError` that names the first invalid line.
 */
export async function* readScoreLines(
  name: string,
  context: Pick<CommandContext, 'cwd' | 'stdin'>,
): AsyncGenerator<ScoreOfSeries> {
  const bytes = name === '-' ? context.stdin : createReadStream(await findInputFile(context.cwd, name));
  const input = Readable.from(decodeTextChunks(bytes));
  let line = 0;
  for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    line += 1;
    if (text.trim() !== '') {
      yield readLine(text, `${name === '-' ? 'stdin' : name}:${line}`);
    }
  }
}

function readLine(text: string, place: string): ScoreOfSeries {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new InvalidInputError(`${place}: not JSON: ${readErrorMessage(cause)}`);
  }
  const { series, scoredAt, score } = checkLine(value, place);
  return { series: { name: series }, atMs: Date.parse(scoredAt), step: Math.round(score * SCORE_STEPS) };
}

function checkLine(value: unknown, place: string): z.infer<typeof lineSchema> {
  try {
    return checkValue(lineSchema, value);
  } catch (error) {
    throw new InvalidInputError(
      `${place}: ${readErrorMessage(error)}; a line is {"series":"a","scoredAt":"2026-01-01T00:03:10Z","score":0.83}, the score directed: 0 worst, 1 best`,
    );
  }
}
