import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import type { StatedFact } from '../../conventions/index.ts';
import { cleanLine } from '../show/clean-text.ts';
import { showReading } from '../show/show-reading.ts';
import { showUnread } from '../show/show-target.ts';
import { readInputs } from '../input/stored-trace.ts';

interface InspectOptions {
  readonly modelCalls?: boolean;
  readonly debug?: boolean;
}

export const registerInspect: RegisterCommand = (program, bind) => {
  withExamples(program.command('inspect <input...>'), [
    ['recorded spans and logs, read together', 'spanscore inspect run.traces.jsonl run.logs.jsonl'],
    ['from a pipe, one JSON line for each trace', 'cat spans.jsonl | spanscore inspect - --json'],
    ['a stored trace', 'spanscore inspect 0af7651916cd43dd8448eb211c80319c'],
    ['each call of a model, as scorers see it', 'spanscore inspect run.traces.jsonl --model-calls'],
  ])
    .option('--model-calls', 'show each model call as a run, too')
    .option('--debug', 'show what each convention states of each span, and where it stands')
    .action(bind(inspect));
};

/** Reads stored spans by the store itself: the API cuts them. */
async function inspect(context: CommandContext, inputs: string[], options: InspectOptions) {
  const traces = await readInputs(context, inputs);
  const { MAX_MODEL_CALLS } = await import('../../scoring/select/targets.ts');
  const { joinTraces, listFacts, readTrace, surveyTrace } = await import('../../conventions/index.ts');
  for (const { data } of joinTraces(traces)) {
    const reading = readTrace(data, { modelCalls: options.modelCalls === true ? MAX_MODEL_CALLS : 0 });
    const scopes = surveyTrace(data, reading);
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
