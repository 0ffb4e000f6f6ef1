import { formatCount, formatPart } from '../../domain/plural.ts';
import { Option } from 'commander';
import { NotFoundError } from '../../domain/errors.ts';
import { readInputs } from '../input/stored-trace.ts';
import { isoTime } from '../../api/json/rows.ts';
import type { NotUnderstoodSurvey, ScopeSurvey } from '../../conventions/index.ts';
import { readSlices } from '../../scoring/read/read-slices.ts';
import type { TraceKey } from '../../store/contracts/stores.ts';
import { limitUpTo, parseMoment } from '../arguments.ts';
import { cleanLine } from '../show/clean-text.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import type { App } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { tableOf } from '../show/output.ts';
import { showKeys, showScope, showUnread } from '../show/show-target.ts';

interface ConventionsOptions {
  readonly since: number;
  readonly limit: number;
}

const MAX_TRACES = 500;
const DEFAULT_TRACES = 200;
const MAX_DETAIL = 400;
export const registerConventions: RegisterCommand = (program, bind) => {
  const command = withExamples(program.command('conventions'), [
    ['telemetry of the last day', 'spanscore conventions'],
    ['for programs', 'spanscore conventions --since 7d --limit 500 --json'],
  ])
    .addOption(
      new Option('--since <when>', 'traces that arrived since 1h, 7d, or a date and time')
        .argParser(parseMoment)
        .default(parseMoment('24h'), '24h'),
    )
    .option('--limit <n>', 'read only the newest n traces', limitUpTo(MAX_TRACES), DEFAULT_TRACES)
    .action(bind(conventions));
  withExamples(command.command('suggest <input...>'), [
    ['a table to copy and adjust', 'spanscore conventions suggest spans.jsonl --name acme-agents'],
    ['of a stored trace', 'spanscore conventions suggest 0af7651916cd43dd8448eb211c80319c --json'],
  ])
    .description(
      'Print a table for the configuration key conventions, made of spans that no convention understands. Reads files of OTLP JSON, stdin (-) or stored traces (ids).',
    )
    .option('--name <name>', 'name of the convention')
    .action(bind(suggest));
};

async function suggest(context: CommandContext, inputs: string[], { name }: { readonly name?: string }) {
  const traces = await readInputs(context, inputs);
  const { joinTraces, suggestTable } = await import('../../conventions/index.ts');
  const { checkTables } = await import('../../domain/trace/convention-schema.ts');
  const found = suggestTable(
    joinTraces(traces).map(({ data }) => data),
    name,
  );
  if (found === undefined) {
    throw new NotFoundError(
      'nothing to suggest: the conventions of spanscore and of the configuration understand these spans, or the spans show no agent',
    );
  }
  const document = { conventions: checkTables([found.table]) };
  if (!found.isWhole) {
    context.out.talk(
      'this table does not give all facts that are read now: adjust it, and compare with spanscore inspect --debug',
    );
  }
  const { stringify } = await import('yaml');
  await context.out.document(document, () => stringify(document).trimEnd());
  return EXIT.done;
}

/** Reads the store itself: a survey needs the spans whole, which the API cuts. */
async function conventions(context: CommandContext, { since, limit }: ConventionsOptions) {
  const app = await context.openApp();
  const listed = await app.store.listTraces({ sinceMs: since, limit });
  const survey = await surveyTraces(
    app,
    listed.filter((trace) => trace.agentSeen),
    context.signal,
  );
  const report = {
    since: isoTime(since),
    tracesListed: listed.length,
    tracesRead: survey.traces,
    /** True when older traces may exist that were not read. */
    limitReached: listed.length === limit,
    ...survey,
  };
  await context.out.document(report, () =>
    [
      `the newest ${formatCount(report.tracesListed, 'trace')} since ${report.since}${report.limitReached ? ` (limited by --limit ${limit})` : ''}: ${survey.traces} of agents or models, ${survey.withoutRun} of these without a run`,
      ...(survey.scopes.length === 0 ? [] : [showTable(survey.scopes)]),
      ...survey.scopes.flatMap(showProblems),
      ...(survey.unreadable === 0 ? [] : [`${survey.unreadable} traces could not be read`]),
      ...(survey.spansLeftOut === 0 ? [] : [`${survey.spansLeftOut} spans of more scopes are not listed`]),
    ].join('\n'),
  );
  return EXIT.done;
}

/** Reads a few traces at a time, so that large traces do not fill the memory. */
async function surveyTraces(app: App, keys: readonly TraceKey[], signal: AbortSignal) {
  const { createSurvey, joinTraces } = await import('../../conventions/index.ts');
  const survey = createSurvey();
  let unreadable = 0;
  for await (const slice of readSlices(app.store.spans, keys)) {
    const read = slice.flatMap((each) => ('data' in each ? [each.data] : []));
    unreadable += slice.length - read.length;
    for (const { data, members } of joinTraces(read)) {
      survey.add(data, await app.readTrace(data), members.length);
    }
    if (signal.aborted) {
      break;
    }
  }
  return { ...survey.result(), unreadable };
}

function showTable(scopes: readonly ScopeSurvey[]): string {
  return tableOf(scopes, {
    SERVICE: ({ service }) => cleanLine(service, 40) || '-',
    SCOPE: ({ scope }) => cleanLine(scope, 60) || '-',
    TRACES: ({ traces }) => traces,
    SPANS: ({ spans }) => spans,
    RUNS: ({ runs }) => runs,
    SCORABLE: ({ scorable }) => scorable,
    'READ AS': (one) => one.conventions.join(', ') || 'not understood',
  });
}

function showProblems(one: ScopeSurvey): string[] {
  const where = showScope(one);
  return [
    ...one.notScorable.map(
      ({ code, runs, detail }) =>
        `${where}: ${formatPart(runs, one.runs, 'run')} cannot be scored: ${code}: ${cleanLine(detail, MAX_DETAIL)}`,
    ),
    ...one.notUnderstood.map((kind) => `${where}: not understood: ${showKind(kind)}`),
    ...showUnread(one),
  ];
}

function showKind({ name, spans, reason, attributes }: NotUnderstoodSurvey): string {
  return `"${cleanLine(name, 80)}" (${formatCount(spans, 'span')}): ${cleanLine(reason, 200)}; attributes ${showKeys(attributes)}`;
}
