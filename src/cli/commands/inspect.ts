import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { TraceReading } from '../../domain/agent-run.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import { isTraceId } from '../arguments.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { readInputs } from '../read-input.ts';
import { readStoredTrace } from '../stored-trace.ts';
import { showReading } from '../show-reading.ts';

export const registerInspect: RegisterCommand = (program, bind) => {
  program
    .command('inspect <input...>')
    .description(
      'Show what spanscore understands of spans: files of OTLP JSON, - for stdin, or stored trace ids.',
    )
    .addHelpText(
      'before',
      examples(
        ['recorded spans and logs, read together', 'spanscore inspect run.traces.jsonl run.logs.jsonl'],
        ['from a pipe, one JSON line a trace', 'cat spans.jsonl | spanscore inspect - --json'],
        ['a stored trace', 'spanscore inspect 0af7651916cd43dd8448eb211c80319c'],
      ),
    )
    .action(bind(inspect));
};

async function inspect(context: CommandContext, inputs: string[]) {
  const files = inputs.filter((input) => !isStoredTrace(input, context.cwd));
  const ids = inputs.filter((input) => isStoredTrace(input, context.cwd));
  const readings = [...(files.length === 0 ? [] : await readFiles(files, context))];
  for (const id of ids) {
    readings.push(...(await readStoredTrace(context, id)));
  }
  for (const reading of readings) {
    await context.out.item(reading, () => `${showReading(reading)}\n`);
  }
  return EXIT.done;
}

/** A trace id, unless a file has that very name. */
export function isStoredTrace(input: string, cwd: string): boolean {
  return isTraceId(input) && !existsSync(resolve(cwd, input));
}

/** The readings in OTLP JSON files; none at all is an error, because the files were meant to hold some. */
export async function readFiles(files: readonly string[], context: CommandContext): Promise<TraceReading[]> {
  const { readTraces } = await import('../../conventions/index.ts');
  const readings = readTraces(await readInputs(files, context));
  if (readings.length === 0) {
    throw new InvalidInputError(
      `${files.join(', ')}: no spans found; expected OTLP JSON: export requests ({"resourceSpans":[…]}), one a line`,
    );
  }
  return readings;
}
