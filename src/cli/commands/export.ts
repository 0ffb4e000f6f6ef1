import { extname } from 'node:path';
import { Option } from 'commander';
import { RequestError } from '../../domain/errors.ts';
import { EXPORT_FORMATS, type ExportFormat } from '../../store/contracts/score-feed.ts';
import { collectNames, parseMoment } from '../arguments.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { listRowNames } from '../input/names.ts';
import { reportFile, writeOutputFile } from '../show/output-file.ts';

interface ExportOptions {
  readonly since: number;
  readonly until?: number;
  readonly scorer?: readonly string[];
  readonly format?: ExportFormat;
  readonly out?: string;
  readonly raw?: boolean;
}

export const registerExport: RegisterCommand = (program, bind) => {
  withExamples(program.command('export'), [
    ['a month for pandas', 'spanscore export --since 30d --out scores.parquet'],
    ['one scorer, as lines of JSON', 'spanscore export --since 7d --scorer hallucination --format ndjson'],
  ])
    .requiredOption('--since <when>', 'scored since 1h, 7d, or a date and time', parseMoment)
    .option('--until <when>', 'scored before this time', parseMoment)
    .option(
      '--scorer <names>',
      'only scores of these scorers (repeatable, or with commas); grounding and panel mean all of their rows',
      collectNames,
    )
    .addOption(
      new Option('--format <format>', 'format (default: by the name of the file, else ndjson)').choices(
        EXPORT_FORMATS,
      ),
    )
    .option('--out <file>', 'write to this file; without it to stdout')
    .option('--raw', "CSV: without the sign ' in front of texts that a spreadsheet would compute")
    .action(bind(exportScores));
};

/** Reads the store itself: the engine writes the format, which no page of the API has. */
async function exportScores(context: CommandContext, options: ExportOptions): Promise<ExitCode> {
  const { since: sinceMs, until: untilMs, out } = options;
  if (untilMs !== undefined && !(sinceMs < untilMs)) {
    throw new RequestError('--until: must be after --since');
  }
  const format = options.format ?? guessFormat(out ?? '');
  if (format === 'parquet' && out === undefined) {
    throw new RequestError('--format parquet: name a file with --out');
  }
  const { config, store } = await context.openApp();
  const { scorer } = options;
  const scores = {
    sinceMs,
    ...(untilMs === undefined ? {} : { untilMs }),
    ...(scorer === undefined ? {} : { scorers: await listRowNames(scorer, config, store) }),
  };
  const chunks = store.scoreExport.read(scores, format, { isRaw: options.raw });
  if (out === undefined) {
    for await (const chunk of chunks) {
      await context.out.raw(chunk);
    }
    return EXIT.done;
  }
  const { file, bytes } = await writeOutputFile(context, out, chunks);
  await reportFile(context.out, { file, format, bytes }, `${file}: ${bytes} bytes of ${format}`);
  return EXIT.done;
}

function guessFormat(name: string): ExportFormat {
  const ending = extname(name).slice(1).toLowerCase();
  return EXPORT_FORMATS.find((format) => format === ending) ?? 'ndjson';
}
