import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import type { StatedFact } from '../../conventions/index.ts';
import { cleanLine } from '../show/clean-text.ts';
import { showReading } from '../show/show-reading.ts';
import { showUnread } from '../show/show-unread.ts';
import { isStoredTrace, readStoredTrace } from '../input/stored-trace.ts';
import { MIB } from '../../domain/byte-sizes.ts';
import type { TraceData } from '../../domain/trace/span.ts';
import { readTraceFiles } from '../input/trace-files.ts';

interface InspectOptions {
  readonly modelCalls?: boolean;
  readonly debug?: boolean;
}

export const registerInspect: RegisterCommand = (program, bind) => {
  program
    .command('inspect <input...>')
    .description(
      'Show how spanscore understands spans. Reads files of OTLP JSON, stdin (-) or stored traces (ids).',
    )
    .option('--model-calls', 'show each model call as a run, too')
    .option('--debug', 'show what each convention states of each span, and where it stands')
    .addHelpText(
      'before',
      examples(
        ['recorded spans and logs, read together', 'spanscore inspect run.traces.jsonl run.logs.jsonl'],
        ['from a pipe, one JSON line for each trace', 'cat spans.jsonl | spanscore inspect - --json'],
        ['a stored trace', 'spanscore inspect 0af7651916cd43dd8448eb211c80319c'],
        ['each call of a model, as scorers see it', 'spanscore inspect run.traces.jsonl --model-calls'],
      ),
    )
    .action(bind(inspect));
};

async function inspect(context: CommandContext, inputs: string[], options: InspectOptions) {
  const files = inputs.filter((input) => !isStoredTrace(input, context.cwd));
  const ids = inputs.filter((input) => isStoredTrace(input, context.cwd));
  const traces = files.length === 0 ? [] : await readTracesOfFiles(context, files);
  for (const id of ids) {
    traces.push(...(await readStoredTrace(context, id)));
  }
  const { readByShape } = (await context.loadConfig()).config.scoring;
  const { MAX_MODEL_CALLS } = await import('../../scoring/select/targets.ts');
  const { joinTraces, listFacts, readTrace, surveyTrace } = await import('../../conventions/index.ts');
  for (const { data } of joinTraces(traces)) {
    const reading = readTrace(data, {
      readByShape,
      modelCalls: options.modelCalls === true ? MAX_MODEL_CALLS : 0,
    });
    const scopes = surveyTrace(data, reading, { readByShape });
    const unreadAttributes = scopes.flatMap(({ service, scope, unreadAttributes: attributes }) =>
      attributes.length === 0 ? [] : [{ service, scope, attributes }],
    );
    const facts = options.debug === true ? listFacts(data) : undefined;
    await context.out.item({ ...reading, unreadAttributes, ...(facts && { facts }) }, () =>
      [
        showReading(reading),
        ...scopes.flatMap(showUnread).map((line) => `  ${line}`),
        ...(facts ?? []).map(showFact),
        '',
      ].join('\n'),
    );
  }
  return EXIT.done;
}

/** Longest value that is shown of a fact; `--json` shows all. */
const MAX_VALUE = 120;

function showFact({ spanId, field, value, convention, source, used }: StatedFact): string {
  const shown = cleanLine(typeof value === 'string' ? value : JSON.stringify(value), MAX_VALUE);
  const place = source === null ? '' : ` from ${cleanLine(source, MAX_VALUE)}`;
  return `  ${spanId} ${field} = ${shown} (${convention}${place}${used ? '' : ', not used'})`;
}

/** Byte limit of all files together: their traces are compared with each other, so they stay in memory. */
const MAX_INPUT_BYTES = 256 * MIB;

async function readTracesOfFiles(context: CommandContext, files: readonly string[]): Promise<TraceData[]> {
  const { openTraceSpool } = await import('../../app/trace-files/trace-spool.ts');
  const { config } = await context.loadConfig();
  const spool = openTraceSpool(config.conventions);
  try {
    await readTraceFiles(files, context, (parts) => spool.add(parts), MAX_INPUT_BYTES);
    return spool.take(spool.count()).flatMap((traceId) => spool.read(traceId) ?? []);
  } finally {
    spool.close();
  }
}
