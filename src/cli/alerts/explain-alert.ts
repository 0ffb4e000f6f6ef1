import type { Command } from 'commander';
import { z } from 'zod';
import type { AlertDetail } from '../../api/resources/alerts.ts';
import { InvalidInputError, RequestError } from '../../domain/errors.ts';
import {
  type ChangeExplanation,
  explainChange,
  writeSentence,
} from '../../monitors/attribution/explain-change.ts';
import { nameValues } from '../../domain/segment-name.ts';
import { FactTable, type Period, type RunFacets } from '../../monitors/attribution/fact-table.ts';
import { parseMoment } from '../arguments.ts';
import type { Bind, CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { readJsonLines } from '../input/json-lines.ts';
import { openApi } from '../open-api.ts';
import { tableOf } from '../show/output.ts';

interface ExplainOptions {
  readonly scores?: string;
  readonly change?: number;
}

/** Values of facets, as a line may write them. */
type WrittenFacets = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

/** Checks facets by hand: a schema took most of the time of a million lines. */
function areFacets(value: unknown): value is WrittenFacets {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every(
      (each) =>
        ['string', 'number', 'boolean'].includes(typeof each) ||
        each === null ||
        (Array.isArray(each) && each.every((text) => typeof text === 'string')),
    )
  );
}

const isList = (value: unknown): value is readonly string[] => Array.isArray(value);

function readFacets(facets: WrittenFacets): RunFacets {
  const read: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(facets)) {
    read[name] = isList(value) ? value : value === null ? '' : String(value);
  }
  return read;
}

/** Series of lines that name none. */
const UNNAMED_SERIES = '';

const LINE = {
  form: 'a line is {"series":"a","score":0.83,"period":"after","facets":{"agentVersion":"3.2","tool":["search"]}}, the score directed: 0 worst, 1 best',
  schema: z.object({
    series: z.string().default(UNNAMED_SERIES),
    scoredAt: z.iso
      .datetime({ offset: true, error: 'write a date and time with its zone, like 2026-01-01T00:03:10Z' })
      .optional(),
    score: z.number().min(0).max(1),
    weight: z.number().nonnegative().default(1),
    period: z.enum(['before', 'after']).optional(),
    facets: z.custom<WrittenFacets>(areFacets, 'write texts, or lists of texts, by name').default({}),
  }),
};

type ScoreLine = z.output<typeof LINE.schema>;

export function addExplainCommand(alerts: Command, bind: Bind): void {
  alerts
    .command('explain')
    .description(
      'Print why the mean of scores changed: the segments that it comes from, the mix of the traffic, everywhere, or chance.',
    )
    .argument('[incident]', 'id of the incident, or of an alert about it')
    .option(
      '--scores <file>',
      'read this file instead of the store: lines of {"series":"a","score":0.8,"weight":1,"period":"before","facets":{"tool":["search"]}}, any order; - is stdin',
    )
    .option('--change <time>', 'with --scores: split lines without a period by scoredAt, here', parseMoment)
    .action(bind(explain));
}

async function explain(
  context: CommandContext,
  incident: string | undefined,
  options: ExplainOptions,
): Promise<ExitCode> {
  if ((incident === undefined) === (options.scores === undefined)) {
    throw new RequestError('name either an incident (spanscore alerts list --incidents) or --scores <file>');
  }
  return incident === undefined
    ? explainFile(context, options.scores ?? '-', options.change)
    : explainIncident(context, incident);
}

async function explainFile(
  context: CommandContext,
  file: string,
  changeMs: number | undefined,
): Promise<ExitCode> {
  const tables = new Map<string, FactTable>();
  for await (const { value, place } of readJsonLines(file, LINE, context)) {
    const { series, facets, score, weight } = value;
    const known = tables.get(series) ?? new FactTable();
    tables.set(series, known);
    const period = findPeriod(value, changeMs, place);
    known.add(readFacets(facets), period, { count: 1, weight, sum: score, squares: score ** 2 });
  }
  if (tables.size === 0) {
    throw new InvalidInputError(`${file}: there are no scores to explain`);
  }
  for (const [series, facts] of tables) {
    const explanation = explainChange(facts.read());
    const sentence = writeSentence(explanation, series);
    await context.out.item({ series: series || 'scores', ...explanation, sentence }, () =>
      showExplanation(explanation, sentence),
    );
  }
  return EXIT.done;
}

function findPeriod({ period, scoredAt }: ScoreLine, changeMs: number | undefined, place: string): Period {
  if (period !== undefined) {
    return period;
  }
  if (changeMs === undefined || scoredAt === undefined) {
    throw new InvalidInputError(
      `${place}: period: is required: write before or after, or scoredAt and name the time of the change with --change`,
    );
  }
  return Date.parse(scoredAt) < changeMs ? 'before' : 'after';
}

async function explainIncident(context: CommandContext, incident: string): Promise<ExitCode> {
  const api = await openApi(context, 'alerts explain');
  const path = `/alerts/${encodeURIComponent(incident)}`;
  const { cause, series } = await api.read<z.output<typeof AlertDetail>>(path);
  if (cause === null) {
    throw new InvalidInputError(`${incident} is no incident about scores: nothing explains it`);
  }
  const { segments: causes, sentence, ...rest } = cause;
  await context.out.document({ series: series.scorer, ...rest, causes, sentence }, () =>
    showExplanation({ causes }, sentence),
  );
  return EXIT.done;
}

function showExplanation({ causes }: Pick<ChangeExplanation, 'causes'>, sentence: string): string {
  const rows = tableOf(causes, {
    SEGMENT: ({ segment, isNew }) => `${nameValues(segment)}${isNew ? ' (new)' : ''}`,
    KIND: ({ kind }) => kind,
    BEFORE: ({ before }) => before?.toFixed(3) ?? '-',
    AFTER: ({ after }) => after?.toFixed(3) ?? '-',
    N: ({ n }) => n,
    'OF THE CHANGE': ({ share }) => `${Math.round(100 * share)} %`,
  });
  return causes.length === 0 ? sentence : `${sentence}\n${rows}`;
}
