import { RequestError } from '../../domain/errors.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';

/** Longest time of a statement, seconds: the user can end it. */
const MAX_SECONDS = 3_600;

export const registerSql: RegisterCommand = (program, bind) => {
  withExamples(program.command('sql'), [
    ['scores by scorer', 'spanscore sql "SELECT Scorer, count() FROM scores FINAL GROUP BY Scorer"'],
    ['a file for pandas', 'spanscore sql "SELECT * FROM runs FINAL" --format Parquet > runs.parquet'],
  ])
    .argument('<statement>', 'SELECT …, without FORMAT and SETTINGS')
    .option('--format <format>', 'output format of ClickHouse (default: a table; with --json JSONEachRow)')
    .action(bind(sql, { stopsItself: true }));
};

/** Runs a statement by the store itself: it may take longer than a request, and its rows come as they are read. */
async function sql(
  context: CommandContext,
  query: string,
  { format = context.out.json ? 'JSONEachRow' : 'PrettyCompactMonoBlock' }: { readonly format?: string },
): Promise<ExitCode> {
  if (!/^\w+$/u.test(format)) {
    throw new RequestError('--format: write an output format of ClickHouse, like CSVWithNames or Parquet');
  }
  const { store } = await context.openApp();
  const { signal } = context;
  for await (const chunk of store.sql.run({ query, format, maxSeconds: MAX_SECONDS, signal })) {
    await context.out.raw(chunk);
  }
  return EXIT.done;
}
