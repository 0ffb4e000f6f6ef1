import { createReadStream } from 'node:fs';
import type { z } from 'zod';
import { checkValue } from '../../config/index.ts';
import { InvalidInputError, readErrorMessage } from '../../domain/errors.ts';
import type { CommandContext } from '../command.ts';
import { findInputFile, readLines } from './input-file.ts';

/**
 * Reads the lines of JSON of a file (`-`: stdin) in order. Skips empty lines. Throws an `InvalidInputError` that names the first invalid
 * line and shows how a line looks.
 * @param form what a line is: `a line is {"score":0.83}`
 * @returns each value, with its place for messages: `scores.ndjson:3`
 */
export async function* readJsonLines<Schema extends z.ZodType>(
  name: string,
  { schema, form }: { readonly schema: Schema; readonly form: string },
  { cwd, stdin }: Pick<CommandContext, 'cwd' | 'stdin'>,
) {
  const bytes = name === '-' ? stdin : createReadStream(await findInputFile(cwd, name));
  let line = 0;
  for await (const text of readLines(bytes)) {
    line += 1;
    if (text.trim() !== '') {
      const place = `${name === '-' ? 'stdin' : name}:${line}`;
      yield { value: checkLine(parseLine(text, place), { schema, form, place }), place };
    }
  }
}

function parseLine(text: string, place: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidInputError(`${place}: not JSON: ${readErrorMessage(cause)}`);
  }
}

function checkLine<Schema extends z.ZodType>(
  value: unknown,
  { schema, form, place }: { readonly schema: Schema; readonly form: string; readonly place: string },
): z.output<Schema> {
  try {
    return checkValue(schema, value);
  } catch (error) {
    throw new InvalidInputError(`${place}: ${readErrorMessage(error)}; ${form}`);
  }
}
