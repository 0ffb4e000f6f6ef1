import { Option, type Command } from 'commander';
import { isoTime } from '../../api/time-json.ts';
import { AppError, messageOf, NotFoundError } from '../../domain/errors.ts';
import type { StoredDeadLetter } from '../../store/contracts/dead-letters.ts';
import type { Store } from '../../store/store.ts';
import { limitUpTo } from '../arguments.ts';
import { cleanLine } from '../clean-text.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { table } from '../output.ts';

interface ListOptions {
  readonly limit: number;
}

interface ChosenOptions {
  readonly all?: boolean;
}

/** The most that are read at a time: each comes with its bytes. */
const MAX_LETTERS = 500;

export const registerDlq: RegisterCommand = (program, bind) => {
  const dlq = program
    .command('dlq')
    .description('Records from Kafka that could not be taken in: show, try again, forget.')
    .addHelpText(
      'before',
      examples(
        ['what could not be read, and why', 'spanscore dlq list'],
        ['try all again, e.g. with a newer version', 'spanscore dlq replay --all'],
        ['forget one', 'spanscore dlq drop <id>'],
      ),
    );
  dlq
    .command('list')
    .description('Print them, newest first; --json has their bytes in base64.')
    .addOption(new Option('--limit <n>', 'at most so many').argParser(limitUpTo(MAX_LETTERS)).default(50))
    .action(bind(list));
  withChoice(dlq.command('replay').description('Try again; what is taken in now is forgotten.')).action(
    bind(replay),
  );
  withChoice(dlq.command('drop').description('Forget them for good.')).action(bind(drop));
};

function withChoice(command: Command): Command {
  return command.argument('[ids...]', 'which ones').option('--all', 'all of them');
}

async function list(context: CommandContext, options: ListOptions): Promise<ExitCode> {
  const { store } = await context.openApp();
  const letters = await store.deadLetters.list({ limit: options.limit });
  if (letters.length === 0) {
    context.out.talk('no records are set aside');
    return EXIT.done;
  }
  if (context.out.json) {
    for (const letter of letters) {
      await context.out.item(letterJson(letter), () => '');
    }
    return EXIT.done;
  }
  await context.out.text(
    table(
      ['FAILED AT', 'ID', 'WHERE', 'BYTES', 'CODE', 'REASON'],
      letters.map((letter) => [
        isoTime(letter.failedAtMs) ?? '',
        letter.id,
        placeOf(letter),
        String(letter.body.length),
        letter.code,
        cleanLine(letter.reason, 80),
      ]),
    ),
  );
  return EXIT.done;
}

async function replay(context: CommandContext, ids: string[], options: ChosenOptions): Promise<ExitCode> {
  if (!isOneChoice(context, ids, options)) {
    return EXIT.usage;
  }
  const { store } = await context.openApp();
  let failed = 0;
  const chosen = await choose(store, ids, options);
  for (const letter of chosen) {
    const fault = await takeIn(store, letter);
    failed += fault === undefined ? 0 : 1;
    await context.out.item({ id: letter.id, place: placeOf(letter), taken: fault === undefined, fault }, () =>
      fault === undefined ? `${letter.id}  taken in` : `${letter.id}  stays: ${cleanLine(fault, 200)}`,
    );
  }
  return failed === 0 ? EXIT.done : EXIT.someFailed;
}

async function drop(context: CommandContext, ids: string[], options: ChosenOptions): Promise<ExitCode> {
  if (!isOneChoice(context, ids, options)) {
    return EXIT.usage;
  }
  const { store } = await context.openApp();
  const chosen = await choose(store, ids, options);
  await store.deadLetters.drop(chosen);
  await context.out.document(
    { dropped: chosen.map((letter) => letter.id) },
    () => `${chosen.length} forgotten`,
  );
  return EXIT.done;
}

function isOneChoice(context: CommandContext, ids: readonly string[], { all }: ChosenOptions): boolean {
  const fine = (all === true) !== ids.length > 0;
  if (!fine) {
    context.out.talk('name the records (see: spanscore dlq list), or give --all');
  }
  return fine;
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
    throw new NotFoundError(`there is no record ${missing.join(', ')}; see: spanscore dlq list`);
  }
  return found;
}

/** What still hinders it, or undefined when its rows are stored. What was rejected of it stays set aside. */
async function takeIn(store: Store, letter: StoredDeadLetter): Promise<string | undefined> {
  const { signal, encoding } = letter;
  if ((signal !== 'traces' && signal !== 'logs') || (encoding !== 'protobuf' && encoding !== 'json')) {
    return 'only its compressed bytes are known, which cannot be read; see --json of dlq list';
  }
  const { decodeRequest } = await import('../../../collector/otlp/decode-request.ts');
  try {
    const {
      table: name,
      pieces,
      rejected,
      reasons,
    } = decodeRequest(signal, encoding, letter.body, letter.tenant);
    for (const [index, { rows, bytes }] of pieces.entries()) {
      await store.sink.insert({ table: name, rows, chunks: [bytes] }, `dead-letter-${letter.id}-${index}`);
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
    await store.deadLetters.write([{ ...letter, attempts: letter.attempts + 1, reason: messageOf(error) }]);
    return messageOf(error);
  }
}

function placeOf({ topic, partition, firstOffset, lastOffset }: StoredDeadLetter): string {
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
