import { InvalidInputError } from '../../domain/errors.ts';
import type { TraceData } from '../../domain/trace/span.ts';
import { cleanLine } from '../show/clean-text.ts';
import type { CommandContext } from '../command.ts';
import { readInputs } from './read-input.ts';

/** Number of problems that are printed. */
const MAX_PROBLEMS = 5;

/**
 * Reads the traces in files of OTLP JSON (`-`: stdin). Prints to stderr the parts that could not be decoded. Throws
 * `InvalidInputError` when no part could be decoded.
 */
export async function readTraceFiles(
  files: readonly string[],
  context: CommandContext,
): Promise<TraceData[]> {
  const { decodeTraces } = await import('../../conventions/index.ts');
  const texts = await readInputs(files, context);
  const { traces, problems } = decodeTraces(texts.length === 1 ? texts[0] : texts.map(joinLines).join('\n'));
  const shown = problems.slice(0, MAX_PROBLEMS).map((problem) => cleanLine(problem));
  if (traces.length === 0) {
    const because = shown.length === 0 ? '' : ` (${shown.join('; ')})`;
    throw new InvalidInputError(
      `${files.join(', ')}: no spans found${because}; expected OTLP JSON: export requests ({"resourceSpans":[…]}), one on each line`,
    );
  }
  for (const problem of shown) {
    context.out.talk(`skipped: ${problem}`);
  }
  if (problems.length > shown.length) {
    context.out.talk(`skipped: ${problems.length - shown.length} more`);
  }
  return traces;
}

/**
 * Puts a JSON document of several lines on one line, so that several files can follow each other. Returns other text
 * unchanged.
 */
function joinLines(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}
