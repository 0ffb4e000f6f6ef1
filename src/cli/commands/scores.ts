import { isoTime, type scoreJson } from '../../api/json/rows.ts';
import { collectNames, limitUpTo, parseMoment, parseNumber, parseTraceId } from '../arguments.ts';
import { cleanLine } from '../show/clean-text.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { openApi } from '../open-api.ts';
import { EXIT } from '../exit-codes.ts';
import { listRowNames } from '../input/names.ts';
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

export const registerScores: RegisterCommand = (program, bind) => {
  withExamples(program.command('scores'), [
    ['the last hour', 'spanscore scores --since 1h'],
    ['low scores of one scorer', 'spanscore scores --scorer keyword-coverage --max 0.5'],
    ['new scores as they arrive', 'spanscore scores --follow --json'],
  ])
    .option('--trace <id>', 'only scores of this trace', parseTraceId)
    .option('--session <id>', 'only scores of this session and of its traces')
    .option(
      '--scorer <names>',
      'only scores of these scorers (repeatable, or with commas); grounding and panel mean all of their rows',
      collectNames,
    )
    .option('--service <name>', 'only scores of this service')
    .option('--since <when>', 'scored since 1h, 7d, or a date and time', parseMoment)
    .option('--max <score>', 'only scores up to this value', parseNumber)
    .option('--limit <n>', 'print at most n', limitUpTo(MAX_ROWS), 50)
    .option('--follow', 'keep printing new scores, oldest first, until Ctrl-C')
    .action(bind(scores, { stopsItself: true }));
};

type ScoreJson = ReturnType<typeof scoreJson>;

async function scores(context: CommandContext, options: ScoresOptions) {
  const api = await openApi(context, 'scores');
  const { scorer, since, trace: traceId, session: sessionId, service, max, limit } = options;
  const { config, store } = await context.openApp();
  const rows = scorer === undefined ? undefined : await listRowNames(scorer, config, store);
  const filters = { traceId, sessionId, scorer: rows, service, max };
  if (options.follow === true) {
    await follow(context, since ?? Date.now(), (fromMs) =>
      api.list('/scores', { ...filters, order: 'scored-first', since: isoTime(fromMs) }),
    );
    return context.signal.aborted ? EXIT.interrupted : EXIT.done;
  }
  const query = { ...filters, order: 'scored', since: isoTime(since ?? null) };
  let count = 0;
  for await (const row of api.list<ScoreJson>('/scores', query, limit)) {
    count += 1;
    await context.out.item(row, () => showScore(row));
  }
  if (count === 0) {
    context.out.talk('no scores match; to see the states of traces: spanscore traces');
  }
  return EXIT.done;
}

/** Prints each (score, revision) once. Remembers a printed row only as long as a read can return it again. */
async function follow(
  { out, signal }: CommandContext,
  sinceMs: number,
  list: (fromMs: number) => AsyncIterable<ScoreJson>,
): Promise<void> {
  const printed = new Map<string, number>();
  let fromMs = sinceMs;
  while (!signal.aborted) {
    for await (const row of list(fromMs)) {
      if (signal.aborted) {
        return;
      }
      const id = `${row.scoreId} ${row.revision}`;
      const scoredAtMs = Date.parse(row.scoredAt ?? '');
      if (!printed.has(id)) {
        printed.set(id, scoredAtMs);
        await out.item(row, () => showScore(row));
      }
      fromMs = Math.max(fromMs, scoredAtMs - FOLLOW_OVERLAP_MS);
    }
    for (const [id, scoredAtMs] of printed) {
      if (scoredAtMs < fromMs) {
        printed.delete(id);
      }
    }
    await sleep(FOLLOW_EVERY_MS, signal);
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
export function showScore(row: ScoreJson): string {
  const direction =
    row.higherIsBetter === null ? '' : row.higherIsBetter ? ' (higher is better)' : ' (lower is better)';
  const who = cleanLine([row.serviceName, row.agent].filter((name) => name !== '').join('/'), 60);
  const head = `${row.scoredAt ?? ''}  ${showTarget(row)}  ${cleanLine(row.scorer, 60)} ${scoreText(row.score)}${direction}  ${who}`;
  return row.reason === '' ? head.trimEnd() : `${head.trimEnd()}\n    ${cleanLine(row.reason, 400)}`;
}
