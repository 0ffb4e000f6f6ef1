import { Option } from 'commander';
import { isoTime } from '../../api/time-json.ts';
import type { BackfillCounts, BackfillSummary } from '../../backfill/run-backfill.ts';
import { InvalidInputError } from '../../domain/errors.ts';
import { formatAll, formatCount } from '../../domain/plural.ts';
import type { PreparedRule } from '../../scoring/select/rule.ts';
import { collectNames, parseMoment } from '../arguments.ts';
import { safeJson } from '../show/clean-text.ts';
import { examples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { requireScorers } from '../input/scorer-names.ts';
import type { StatusCounts } from '../../domain/decision.ts';

interface BackfillOptions {
  readonly from: number;
  readonly to: number;
  readonly scorer?: string[];
  readonly dryRun?: boolean;
}

const PROGRESS_EVERY_MS = 10_000;

export const registerBackfill: RegisterCommand = (program, bind) => {
  program
    .command('backfill')
    .description(
      'Score stored traces. Skips traces with scores, traces that still arrive and traces that live scoring must still score. Run it again to continue.',
    )
    .addOption(
      new Option('--from <when>', 'traces that began since 7d, or a date and time')
        .argParser(parseMoment)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--to <when>', 'traces that began before this time')
        .argParser(parseMoment)
        .default(Date.now(), 'now'),
    )
    .option(
      '--scorer <names>',
      'run these scorers (repeatable, or with commas); default: those of the rules',
      collectNames,
    )
    .option('--dry-run', 'only count the traces that would be scored')
    .addHelpText(
      'before',
      examples(
        ['the last week, by the rules', 'spanscore backfill --from 7d'],
        [
          'a day, by one scorer',
          'spanscore backfill --from 2026-11-20 --to 2026-11-21 --scorer keyword-coverage',
        ],
        ['count the traces first', 'spanscore backfill --from 7d --dry-run'],
      ),
    )
    .action(bind(backfill, { stopsItself: true }));
};

async function backfill(context: CommandContext, options: BackfillOptions): Promise<ExitCode> {
  const { config } = await context.loadConfig();
  requireScorers(options.scorer ?? [], config);
  const { loadScorerKit } = await import('../../app/scorer-kit.ts');
  const kit = await loadScorerKit(config, context);
  const traceRules = kit.rules.filter(({ target }) => target !== 'session');
  const rules =
    options.scorer === undefined ? traceRules : [await kit.prepareOwnRule('scorers', options.scorer)];
  if (rules.length === 0) {
    throw new InvalidInputError(
      'no rules on traces are configured: name scorers with --scorer (rules on sessions have no backfill)',
    );
  }
  const app = await context.openApp();
  const { createConfiguredScoring } = await import('../../app/configured-scoring.ts');
  const { countBackfill, runBackfill } = await import('../../backfill/run-backfill.ts');
  const { readTrace } = await import('../../conventions/index.ts');
  const { log, signal } = context;
  const scoring = createConfiguredScoring({ config, kit, stores: app.store, readTrace, log, signal });
  const request = { fromMs: options.from, toMs: options.to, rules, liveRules: traceRules, signal };
  if (options.dryRun === true) {
    const counts = await countBackfill(scoring, request);
    const document = { dryRun: true, ...countsJson(counts), rules: rules.map(ruleJson) };
    await context.out.document(document, () => [showCounts(counts), ...rules.map(showRule)].join('\n'));
    return counts.interrupted ? EXIT.interrupted : EXIT.done;
  }
  const onProgress = createProgressReporter(context);
  const summary = await runBackfill(scoring, { ...request, onProgress });
  await context.out.document(summaryJson(summary), () => showSummary(summary));
  reportLeftToLive(context, summary);
  if (summary.interrupted) {
    context.out.talk(`stopped; to continue: ${resumeLine(options)}`);
    return EXIT.interrupted;
  }
  return summary.incomplete ? EXIT.someFailed : EXIT.done;
}

/** Prints the reason when the backfill scored nothing. */
function reportLeftToLive(context: CommandContext, summary: BackfillSummary): void {
  const { traces, leftToLive, already, decisions, broken } = summary;
  const isNew =
    summary.scored > 0 || broken > 0 || Object.keys(decisions).some((status) => status !== 'scored');
  if (summary.interrupted || isNew) {
    return;
  }
  if (traces > 0) {
    const isScored = Object.keys(already).every((status) => status === 'scored');
    const decided = isScored ? 'scored already' : `decided already (${showStatuses(already)})`;
    context.out.talk(
      `${formatAll(traces, 'trace')} ${traces === 1 ? 'was' : 'were'} ${decided}: nothing was left to score`,
    );
  } else if (leftToLive.arriving + leftToLive.owed === 0) {
    context.out.talk('no trace of an agent or a model began in this time; to list traces: spanscore traces');
  }
}

function ruleJson({ name, sample, scorers }: PreparedRule) {
  return {
    name,
    rate: sample.rate,
    scorers: scorers.map((scorer) => ({ name: scorer.name, judge: scorer.judgeModel || null })),
  };
}

function showRule({ name, sample, scorers }: PreparedRule): string {
  return `rule ${name}: ${scorers.map((scorer) => scorer.name).join(', ')} on ${sample.rate * 100} %`;
}

function createProgressReporter(context: CommandContext): (progress: BackfillSummary) => void {
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

function countsJson({ fromMs, toMs, leftToLive, ...counts }: BackfillCounts) {
  const { arriving, owed } = leftToLive;
  return {
    ...counts,
    from: isoTime(fromMs),
    to: isoTime(toMs),
    left_to_live: arriving + owed,
    leftBecause: { arriving, owed },
  };
}
function summaryJson(summary: BackfillSummary) {
  const { scored, already, decisions, broken, costUsd, incomplete, ...counts } = summary;
  return { ...countsJson(counts), scored, already, decisions, broken, costUsd, incomplete };
}

/** Formats the counts that a dry run and a real run share. */
function showCounts({ traces, decided, leftToLive, fromMs, toMs }: BackfillCounts): string {
  const { arriving, owed } = leftToLive;
  return [
    `${formatCount(traces, 'trace')} of agents or models began from ${isoTime(fromMs)} to ${isoTime(toMs)}`,
    ...(decided > 0 ? [`${decided} of them decided by an earlier run`] : []),
    ...(arriving + owed > 0
      ? [
          `${arriving + owed} more left to live scoring (${arriving} still arriving, ${owed} without a decision of a rule yet)`,
        ]
      : []),
  ].join(' · ');
}

function showSummary(summary: BackfillSummary): string {
  const { id, scored, decisions, broken, costUsd } = summary;
  const parts = [
    showCounts(summary),
    formatCount(scored, 'new score'),
    ...(Object.keys(decisions).length > 0 ? [`decided: ${showStatuses(decisions)}`] : []),
    ...(broken > 0 ? [`${broken} stopped early, run the command again`] : []),
    ...(costUsd > 0 ? [`${costUsd.toFixed(4)} USD`] : []),
  ];
  return `backfill ${id}: ${parts.join(' · ')}`;
}

function showStatuses(counts: StatusCounts): string {
  return Object.entries(counts)
    .map(([status, count]) => `${count} ${status}`)
    .join(', ');
}

/** Returns the command that continues the backfill. Its times are fixed, because `7d` would mean another range later. */
function resumeLine(options: BackfillOptions): string {
  const scorers = options.scorer === undefined ? '' : ` --scorer ${options.scorer.join(',')}`;
  return `spanscore backfill --from ${isoTime(options.from)} --to ${isoTime(options.to)}${scorers}`;
}
