import type { Command } from 'commander';
import { ALERT_SIGNAL, revivedDeliveries } from '../../delivery/deliver-alerts.ts';
import { revivedScore, SCORE_SIGNAL } from '../../delivery/deliver-scores.ts';
import { isoTime } from '../../api/json/rows.ts';
import { AppError, readErrorMessage, NotFoundError, RequestError } from '../../domain/errors.ts';
import { ROW_ENCODINGS } from '../../store/contracts/rows.ts';
import type { StoredDeadLetter } from '../../store/contracts/dead-letters.ts';
import type { PurgedTraces } from '../../store/contracts/purge.ts';
import { limitUpTo } from '../arguments.ts';
import { cleanLine } from '../show/clean-text.ts';
import type { App } from '../context.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { tableOf } from '../show/output.ts';
import type { Store } from '../../store/store.ts';

interface ChosenOptions {
  readonly all?: boolean;
}

/** Most letters read at a time, because each has its bytes. */
const MAX_LETTERS = 500;

export const registerDlq: RegisterCommand = (program, bind) => {
  const dlq = withExamples(program.command('dlq'), [
    ['list them with the reasons', 'spanscore dlq list'],
    ['try all again, for example with a newer version', 'spanscore dlq replay --all'],
    ['delete one', 'spanscore dlq drop <id>'],
  ]);
  dlq
    .command('list')
    .description('Print dead letters, newest first; --json prints their bytes in base64.')
    .option('--limit <n>', 'print at most n', limitUpTo(MAX_LETTERS), 50)
    .action(bind(list));
  withChoice(
    dlq.command('replay').description('Try dead letters again. Those that succeed are deleted.'),
  ).action(bind(replay));
  withChoice(dlq.command('drop').description('Delete dead letters for ever.')).action(bind(drop));
};

function withChoice(command: Command): Command {
  return command.argument('[ids...]', 'ids of dead letters').option('--all', 'all dead letters');
}

/** Reads the store itself, as `replay` and `drop` do: the bytes of dead letters are of no tenant, so that the API has no route for them. */
async function list(context: CommandContext, options: { readonly limit: number }): Promise<ExitCode> {
  const { store } = await context.openApp();
  const letters = await store.deadLetters.list({ limit: options.limit });
  if (letters.length === 0) {
    context.out.talk('there are no dead letters');
    return EXIT.done;
  }
  await context.out.list(letters.map(letterJson), () => showLetters(letters));
  const more = (await store.deadLetters.count()) - letters.length;
  if (more > 0) {
    const limit = Math.min(MAX_LETTERS, letters.length + more);
    const hint =
      limit > options.limit ? `: --limit ${limit} prints ${limit === MAX_LETTERS ? 'the most' : 'all'}` : '';
    context.out.talk(`${more} more ${more === 1 ? 'is' : 'are'} set aside, older than these${hint}`);
  }
  return EXIT.done;
}

function showLetters(letters: readonly StoredDeadLetter[]): string {
  return tableOf(letters, {
    'FAILED AT': ({ failedAtMs }) => isoTime(failedAtMs) ?? '',
    ID: ({ id }) => id,
    WHERE: formatPlace,
    BYTES: ({ body }) => body.length,
    CODE: ({ code }) => code,
    REASON: ({ reason }) => cleanLine(reason, 80),
  });
}

async function replay(context: CommandContext, ids: string[], options: ChosenOptions): Promise<ExitCode> {
  requireOneChoice(ids, options);
  const app = await context.openApp();
  const { store } = app;
  let failed = 0;
  const chosen = await choose(store, ids, options);
  for (const letter of chosen) {
    const fault = await takeIn(app, letter);
    failed += fault === undefined ? 0 : 1;
    await context.out.item(
      { id: letter.id, place: formatPlace(letter), taken: fault === undefined, fault },
      () =>
        fault === undefined ? `${letter.id}  taken in` : `${letter.id}  stays: ${cleanLine(fault, 200)}`,
    );
  }
  await reportMore(context, store, options, chosen.length);
  return failed === 0 ? EXIT.done : EXIT.someFailed;
}

async function drop(context: CommandContext, ids: string[], options: ChosenOptions): Promise<ExitCode> {
  requireOneChoice(ids, options);
  const { store } = await context.openApp();
  const chosen = await choose(store, ids, options);
  await store.deadLetters.drop(chosen);
  await context.out.document(
    { dropped: chosen.map((letter) => letter.id) },
    () => `${chosen.length} forgotten`,
  );
  await reportMore(context, store, options, chosen.length);
  return EXIT.done;
}

/** Reports the letters that remain: `--all` takes one page of them. */
async function reportMore(
  context: CommandContext,
  store: Store,
  { all }: ChosenOptions,
  done: number,
): Promise<void> {
  const more = all === true && done === MAX_LETTERS ? await store.deadLetters.count() : 0;
  if (more > 0) {
    context.out.talk(`${more} ${more === 1 ? 'is' : 'are'} still set aside; see: spanscore dlq list`);
  }
}

function requireOneChoice(ids: readonly string[], { all }: ChosenOptions): void {
  if ((all === true) === ids.length > 0) {
    throw new RequestError('name the ids of dead letters (to list them: spanscore dlq list), or use --all');
  }
}

async function choose(
  store: Store,
  ids: readonly string[],
  { all }: ChosenOptions,
): Promise<StoredDeadLetter[]> {
  if (all === true) {
    return store.deadLetters.list({ limit: MAX_LETTERS });
  }
  const wanted = [...new Set(ids.map((id) => id.toLowerCase()))];
  const found = await store.deadLetters.list({ limit: wanted.length, ids: wanted });
  const missing = wanted.filter((id) => !found.some((letter) => letter.id === id));
  if (missing.length > 0) {
    throw new NotFoundError(
      `there is no dead letter ${missing.join(', ')}; to list them: spanscore dlq list`,
    );
  }
  return found;
}

/**
 * Stores the rows of a dead letter, without those of purged traces. Returns undefined on success, else the reason. Rejected rows stay in the dead letters.
 */
async function takeIn(
  { store, purged }: Pick<App, 'store' | 'purged'>,
  letter: StoredDeadLetter,
): Promise<string | undefined> {
  if (letter.signal === ALERT_SIGNAL) {
    await store.alertFeed.record(revivedDeliveries(letter.body, await store.spans.nowMs()));
    await store.deadLetters.drop([letter]);
    return undefined;
  }
  if (letter.signal === SCORE_SIGNAL) {
    await store.scoreFeed.replay(letter.source, revivedScore(letter.body));
    await store.deadLetters.drop([letter]);
    return undefined;
  }
  const blocks = await readBlocks(letter, purged);
  if (typeof blocks === 'string') {
    return blocks;
  }
  try {
    const { inserts, rejected, reasons } = blocks();
    for (const [index, block] of inserts.entries()) {
      await store.sink.insert(block, `dead-letter-${letter.id}-${index}`);
    }
    if (rejected > 0) {
      return `${rejected} rejected: ${reasons.join('; ')}`;
    }
    await store.deadLetters.drop([letter]);
    return undefined;
  } catch (error) {
    if (error instanceof AppError && error.retryable) {
      throw error;
    }
    await store.deadLetters.write([
      { ...letter, attempts: letter.attempts + 1, reason: readErrorMessage(error) },
    ]);
    return readErrorMessage(error);
  }
}

/** Returns a reader of the blocks of a letter (it may throw), or the reason why the letter cannot be read. */
async function readBlocks(letter: StoredDeadLetter, purged: PurgedTraces) {
  const { signal, encoding, body, tenant, firstOffset, lastOffset } = letter;
  const name = signal === 'traces' ? 'otel_traces' : 'otel_logs';
  if (encoding === ROW_ENCODINGS[name]) {
    const block = { table: name, rows: Number(lastOffset - firstOffset) + 1, chunks: [body] } as const;
    return () => ({ inserts: [block], rejected: 0, reasons: [] });
  }
  if (encoding.startsWith('row_binary')) {
    return `its rows have other columns (${encoding}) than this version writes (${ROW_ENCODINGS[name]})`;
  }
  if ((signal !== 'traces' && signal !== 'logs') || (encoding !== 'protobuf' && encoding !== 'json')) {
    return 'spanscore cannot decompress its bytes; to get them: spanscore dlq list --json';
  }
  const { decodeRequest } = await import('../../../collector/otlp/decode-request.ts');
  const { dropPurgedRows } = await import('../../../collector/otlp/row-pieces.ts');
  return () => {
    const { table: into, pieces, rejected, reasons } = decodeRequest(signal, encoding, body, tenant);
    const kept = pieces.map((piece) => dropPurgedRows(piece, tenant, purged).piece);
    const inserts = kept.map(({ rows, bytes }) => ({ table: into, rows, chunks: [bytes] }));
    return { inserts, rejected, reasons };
  };
}

function formatPlace({ source, topic, partition, firstOffset, lastOffset }: StoredDeadLetter): string {
  if (topic === '') {
    return cleanLine(source, 40);
  }
  const offsets = firstOffset === lastOffset ? `${firstOffset}` : `${firstOffset}-${lastOffset}`;
  return `${cleanLine(topic, 40)}/${partition} @ ${offsets}`;
}

function letterJson(letter: StoredDeadLetter) {
  const { body, failedAtMs, firstOffset, lastOffset, ...rest } = letter;
  return {
    ...rest,
    firstOffset: String(firstOffset),
    lastOffset: String(lastOffset),
    failedAt: isoTime(failedAtMs),
    body: Buffer.from(body).toString('base64'),
  };
}
