import { Option } from 'commander';
import { isoTime } from '../../api/time-json.ts';
import type { BackfillSummary } from '../../backfill/run-backfill.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import type { PreparedRule } from '../../scoring/rule.ts';
import type { SpanSource, TraceActivity } from '../../store/contracts/stores.ts';
import { collectNames, parseMoment } from '../arguments.ts';
import { safeJson } from '../clean-text.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';

interface BackfillOptions {
  readonly from: number;
  readonly to: number;
  readonly scorer?: string[];
  readonly dryRun?: boolean;
}

const PROGRESS_EVERY_MS = 10_000;
const COUNT_PAGE = 1000;

export const registerBackfill: RegisterCommand = (program, bind) => {
  program
    .command('backfill')
    .description('Score stored traces of the past. What is scored already is skipped: run it again to go on.')
    .addOption(
      new Option('--from <when>', 'traces that began since: 7d, or a date and time')
        .argParser(parseMoment)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--to <when>', 'and before; never later than the age at which live scoring is done')
        .argParser(parseMoment)
        .default(Date.now(), 'now'),
    )
    .option(
      '--scorer <names>',
      'by these scorers (repeatable, or with commas); default: by the rules',
      collectNames,
    )
    .option('--dry-run', 'only count the traces')
    .addHelpText(
      'before',
      examples(
        ['the last week, by the rules', 'spanscore backfill --from 7d'],
        [
          'a day, by one scorer',
          'spanscore backfill --from 2026-11-20 --to 2026-11-21 --scorer keyword-coverage',
        ],
        ['how many traces that would be', 'spanscore backfill --from 7d --dry-run'],
      ),
    )
    .action(bind(backfill, { stopsItself: true }));
};

async function backfill(context: CommandContext, options: BackfillOptions): Promise<ExitCode> {
  const { config } = await context.loadConfig();
  const { openScorerKit } = await import('../../app/scorer-kit.ts');
  const kit = await openScorerKit(config);
  const rules = options.scorer === undefined ? kit.rules : [await kit.ruleOf('scorers', options.scorer)];
  if (rules.length === 0) {
    throw new InvalidInputError('there are no rules: name scorers with --scorer');
  }
  const app = await context.openApp();
  if (options.dryRun === true) {
    return count(context, app.store.spans, options, rules);
  }
  const { openConfiguredScoring } = await import('../../app/open-scoring.ts');
  const { runBackfill } = await import('../../backfill/run-backfill.ts');
  const { readTrace } = await import('../../conventions/index.ts');
  const { log, signal } = context;
  const summary = await runBackfill(
    openConfiguredScoring({ config, kit, stores: app.store, readTrace, log, signal }),
    {
      fromMs: options.from,
      toMs: options.to,
      rules,
      signal,
      onProgress: progressTeller(context),
    },
  );
  await context.out.document(summaryJson(summary), () => showSummary(summary));
  if (summary.interrupted) {
    context.out.talk(`stopped; to go on: ${resumeLine(options)}`);
    return EXIT.interrupted;
  }
  return summary.incomplete ? EXIT.someFailed : EXIT.done;
}

/** The traces that would be looked at; sampling, `where` and budgets may leave some out. */
async function count(
  context: CommandContext,
  spans: SpanSource,
  options: BackfillOptions,
  rules: readonly PreparedRule[],
): Promise<ExitCode> {
  let traces = 0;
  let last: TraceActivity | undefined;
  do {
    const after =
      last === undefined
        ? {}
        : { after: { startUnixNano: last.firstStartUnixNano, traceId: last.traceId, tenant: last.tenant } };
    const page = await spans.list({ fromMs: options.from, toMs: options.to, limit: COUNT_PAGE, ...after });
    traces += page.filter((trace) => trace.agentSeen).length;
    last = page.at(-1);
  } while (last !== undefined && !context.signal.aborted);
  const result = {
    dryRun: true,
    from: isoTime(options.from),
    to: isoTime(options.to),
    traces,
    rules: rules.map((rule) => ({
      name: rule.name,
      rate: rule.sample.rate,
      scorers: rule.scorers.map((scorer) => ({ name: scorer.name, judge: scorer.judgeModel || null })),
    })),
  };
  await context.out.document(result, () =>
    [
      `${traces} traces of agents or models began from ${result.from} to ${result.to}`,
      ...result.rules.map(
        (rule) =>
          `rule ${rule.name}: ${rule.scorers.map((scorer) => scorer.name).join(', ')} on ${rule.rate * 100} %`,
      ),
    ].join('\n'),
  );
  return context.signal.aborted ? EXIT.interrupted : EXIT.done;
}

function progressTeller(context: CommandContext): (progress: BackfillSummary) => void {
  let toldMs = Date.now();
  return (progress) => {
    if (Date.now() - toldMs < PROGRESS_EVERY_MS) {
      return;
    }
    toldMs = Date.now();
    context.out.talk(
      context.out.json ? safeJson({ progress: summaryJson(progress) }) : showSummary(progress),
    );
  };
}

function summaryJson(summary: BackfillSummary) {
  const { fromMs, toMs, ...rest } = summary;
  return { ...rest, from: isoTime(fromMs), to: isoTime(toMs) };
}

function showSummary(summary: BackfillSummary): string {
  const decisions = Object.entries(summary.decisions).map(([status, amount]) => `${amount} ${status}`);
  const parts = [
    `${summary.traces} traces until ${isoTime(summary.toMs)}`,
    `${summary.scored} new scores`,
    ...decisions.map((text) => `decided: ${text}`),
    `${summary.skipped} skipped`,
    ...(summary.waiting > 0 ? [`${summary.waiting} still arriving`] : []),
    ...(summary.broken > 0 ? [`${summary.broken} broke off, run again`] : []),
    ...(summary.costUsd > 0 ? [`${summary.costUsd.toFixed(4)} USD`] : []),
  ];
  return `backfill ${summary.id}: ${parts.join(' · ')}`;
}

/** With fixed times: `7d` would mean another range by then. */
function resumeLine(options: BackfillOptions): string {
  const scorers = options.scorer === undefined ? '' : ` --scorer ${options.scorer.join(',')}`;
  return `spanscore backfill --from ${isoTime(options.from)} --to ${isoTime(options.to)}${scorers}`;
}
