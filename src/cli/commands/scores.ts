import { Option } from 'commander';
import { scoreJson, isoTime } from '../../api/json/rows.ts';
import type { Score } from '../../domain/score.ts';
import type { ScoreFilter } from '../../store/contracts/stores.ts';
import { collectNames, limitUpTo, parseMoment, parseNumber, parseTraceId } from '../arguments.ts';
import { cleanLine } from '../show/clean-text.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import type { App } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { listRowNames } from '../input/scorer-names.ts';
import { showTarget } from '../show/show-target.ts';
import { sleep } from '../../domain/waits.ts';

interface ScoresOptions {
  readonly trace?: string;
  readonly session?: string;
  readonly scorer?: readonly string[];
  readonly service?: string;
  readonly since?: number;
  readonly max?: number;
  readonly limit: number;
  readonly follow?: boolean;
}

/** Limit of one call; for more rows, query the store itself. */
const MAX_ROWS = 100_000;
const FOLLOW_EVERY_MS = 1000;
/** Overlap of two reads in milliseconds: an older row may be committed after a newer one. */
const FOLLOW_OVERLAP_MS = 60_000;
/** Rows of one page of `--follow`. */
const FOLLOW_LIMIT = 5000;

export const registerScores: RegisterCommand = (program, bind) => {
  program
    .command('scores')
    .description('Print score rows, newest first.')
    .addOption(new Option('--trace <id>', 'only scores of this trace').argParser(parseTraceId))
    .option('--session <id>', 'only scores of this session and of its traces')
    .option(
      '--scorer <names>',
      'only scores of these scorers (repeatable, or with commas); grounding and panel mean all of their rows',
      collectNames,
    )
    .option('--service <name>', 'only scores of this service')
    .addOption(new Option('--since <when>', 'scored since 1h, 7d, or a date and time').argParser(parseMoment))
    .addOption(new Option('--max <score>', 'only scores up to this value').argParser(parseNumber))
    .addOption(new Option('--limit <n>', 'print at most n').argParser(limitUpTo(MAX_ROWS)).default(50))
    .option('--follow', 'keep printing new scores, oldest first, until Ctrl-C')
    .addHelpText(
      'before',
      examples(
        ['the last hour', 'spanscore scores --since 1h'],
        ['low scores of one scorer', 'spanscore scores --scorer keyword-coverage --max 0.5'],
        ['new scores as they arrive', 'spanscore scores --follow --json'],
      ),
    )
    .action(bind(scores, { stopsItself: true }));
};

async function scores(context: CommandContext, options: ScoresOptions) {
  const app = await context.openApp();
  const filter = await readFilter(options, app);
  if (options.follow === true) {
    await follow(context, app, { ...filter, limit: FOLLOW_LIMIT });
    return context.signal.aborted ? EXIT.interrupted : EXIT.done;
  }
  const rows = await app.store.scores.list(filter);
  for (const row of rows) {
    await context.out.item(scoreJson(row), () => showScore(row));
  }
  if (rows.length === 0) {
    context.out.talk('no scores match; to see the states of traces: spanscore traces');
  }
  return EXIT.done;
}

async function readFilter(options: ScoresOptions, { config, store }: App): Promise<ScoreFilter> {
  return {
    limit: options.limit,
    ...(options.trace === undefined ? {} : { traceId: options.trace }),
    ...(options.session === undefined ? {} : { sessionId: options.session }),
    ...(options.scorer === undefined ? {} : { scorers: await listRowNames(options.scorer, config, store) }),
    ...(options.service === undefined ? {} : { service: options.service }),
    ...(options.since === undefined ? {} : { sinceMs: options.since }),
    ...(options.max === undefined ? {} : { maxScore: options.max }),
  };
}

/** Prints each (score, revision) once. Remembers a printed row only as long as a read can return it again. */
async function follow(context: CommandContext, app: App, filter: ScoreFilter): Promise<void> {
  const printed = new Map<string, number>();
  let fromMs = filter.sinceMs ?? Date.now();
  while (!context.signal.aborted) {
    for await (const rows of readPages(app, { ...filter, sinceMs: fromMs })) {
      if (context.signal.aborted) {
        return;
      }
      for (const row of rows) {
        const id = `${row.scoreId} ${row.revision}`;
        if (!printed.has(id)) {
          printed.set(id, row.scoredAt);
          await context.out.item(scoreJson(row), () => showScore(row));
        }
      }
      fromMs = Math.max(fromMs, (rows.at(-1)?.scoredAt ?? fromMs) - FOLLOW_OVERLAP_MS);
    }
    for (const [id, scoredAt] of printed) {
      if (scoredAt < fromMs) {
        printed.delete(id);
      }
    }
    await sleep(FOLLOW_EVERY_MS, context.signal);
  }
}

/** Reads all rows of a filter in pages, oldest first. */
async function* readPages({ store }: App, filter: ScoreFilter): AsyncGenerator<readonly Score[]> {
  let rows = await store.scores.list({ ...filter, after: null });
  while (rows.length > 0) {
    yield rows;
    rows =
      rows.length < filter.limit ? [] : await store.scores.list({ ...filter, after: rows.at(-1) ?? null });
  }
}

export function scoreText(score: number): string {
  const isTiny = Math.abs(score) < 0.001;
  return Number.isInteger(score)
    ? String(score)
    : isTiny
      ? String(Number(score.toPrecision(2)))
      : score.toFixed(3);
}

/** Formats a score on two lines: the value and the reason. */
export function showScore(row: Score): string {
  const direction =
    row.higherIsBetter === null ? '' : row.higherIsBetter ? ' (higher is better)' : ' (lower is better)';
  const who = cleanLine([row.serviceName, row.agent].filter((name) => name !== '').join('/'), 60);
  const head = `${isoTime(row.scoredAt) ?? ''}  ${showTarget(row)}  ${cleanLine(row.scorer, 60)} ${scoreText(row.score)}${direction}  ${who}`;
  return row.reason === '' ? head.trimEnd() : `${head.trimEnd()}\n    ${cleanLine(row.reason, 400)}`;
}
