import { InvalidInputError } from '../../domain/errors.ts';
import type { TraceData } from '../../domain/span.ts';
import { cleanLine } from '../show/clean-text.ts';
import type { CommandContext } from '../command.ts';
import { readInputs } from './read-input.ts';

/** Number of problems that are printed. */
const MAX_PROBLEMS = 5;

/**
 * The traces in files of OTLP JSON (`-`: stdin). Tells on stderr what could not be decoded; throws `InvalidInputError` when
 * nothing could, because the files were meant to hold something.
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
      `${files.join(', ')}: no spans found${because}; expected OTLP JSON: export requests ({"resourceSpans":[…]}), one a line`,
    );
  }
  for (const problem of shown) {
    context.out.talk(`left out: ${problem}`);
  }
  if (problems.length > shown.length) {
    context.out.talk(`left out: ${problems.length - shown.length} more`);
  }
  return traces;
}

/** A JSON document of several lines as one, so that several files can stand below each other; other text as it is. */
function joinLines(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}
