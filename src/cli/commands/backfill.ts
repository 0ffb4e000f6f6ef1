import type { Command } from 'commander';
import type { z } from 'zod';
import { limitUpTo } from '../arguments.ts';
import { withExamples, type Bind, type RegisterCommand, type CommandContext } from '../command.ts';
import {
  nameOption,
  addRequestOptions,
  writeConditions,
  type WrittenConditions,
} from '../input/request-options.ts';
import { NewBackfill, readAsked } from '../../api/resources/backfills.ts';
import { backfillJson } from '../../api/json/rows.ts';
import { hasLiveScorer } from '../../aggregates/refresh-aggregates.ts';
import { readBackfillReport, SKIPPED, readBackfillSpec } from '../../jobs/stored-job.ts';
import type { JobOrder, Job } from '../../store/contracts/jobs.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { openApi, loadKit, NEVER, openScoring, type Page } from '../open-api.ts';
import { table } from '../show/output.ts';
import { showBackfill, showCounts, showEstimate, showMoney } from '../show/show-backfill.ts';
import { formatAll } from '../../domain/plural.ts';
import type { BackfillDryRun } from '../../api/writes/backfill-dry-run.ts';
import { requireLiveScorer, requireTaker, finishJob, runAttached } from '../jobs/run-job.ts';
import { RequestError } from '../../domain/errors.ts';
import { requireRules, requireScorers } from '../input/names.ts';

export const registerBackfill: RegisterCommand = (program, bind) => {
  const words = { from: 'when', to: 'when', rate: 'number' };
  const backfill = addRequestOptions(program.command('backfill'), NewBackfill, words);
  withExamples(backfill, [
    ['the last week, by the rules', 'spanscore backfill --from 7d'],
    ['counts and cost first', 'spanscore backfill --from 7d --dry-run'],
    [
      'one scorer on a day of one service, for 5 dollars at most',
      'spanscore backfill --from 2026-11-20 --to 2026-11-21 --scorer hallucination --where service=shop --max-cost 5',
    ],
    ['slowly, beside live traffic', 'spanscore backfill --from 30d --rate 10/s --detach'],
    ['stop it for a while', 'spanscore backfill pause <id>'],
  ])
    .option('--detach', 'only create the job: a running serve does the work')
    .action(bind(startBackfill, { stopsItself: true }));
  registerKnown(backfill, bind);
};

function registerKnown(backfill: Command, bind: Bind): void {
  backfill
    .command('list')
    .description('List backfills, newest first.')
    .option('--limit <number>', 'most backfills', limitUpTo(500), 20)
    .action(bind(listBackfills));
  const ofOne = (name: string, description: string) =>
    backfill.command(name).description(description).argument('<id>', 'id of the backfill');
  ofOne('show', 'Print how far a backfill is.').action(bind(showOneBackfill));
  ofOne('pause', 'Stop a backfill until it is resumed. What is scored stays.').action(
    bind((context, id: string) => changeBackfill(context, id, 'pause')),
  );
  ofOne('resume', 'Continue a backfill, in a running serve, or here when none runs.').action(
    bind(resumeBackfill, { stopsItself: true }),
  );
  ofOne('cancel', 'End a backfill. What is scored stays.').action(
    bind((context, id: string) => changeBackfill(context, id, 'cancel')),
  );
}

async function listBackfills(context: CommandContext, { limit }: { limit: number }): Promise<ExitCode> {
  const api = await openApi(context, 'backfill list');
  const { items } = await api.read<Page<BackfillJson>>('/backfills', { limit });
  const headers = ['ID', 'STATUS', 'FROM', 'TO', 'TRACES', 'SCORED', 'LEFT', 'USD'];
  const none = context.out.json ? undefined : 'there are no backfills';
  await context.out.list(items, () => table(headers, items.map(listPairs)), none);
  return EXIT.done;
}

function listPairs(backfill: BackfillJson): string[] {
  const { id, status, spec, costUsd } = backfill;
  const { from, to } = readBackfillSpec(spec);
  const { matched, scored, remaining } = readBackfillReport(backfill);
  return [id, status, from, to, ...[matched, scored, remaining].map(String), costUsd.toFixed(4)];
}

async function showOneBackfill(context: CommandContext, id: string): Promise<ExitCode> {
  const api = await openApi(context, 'backfill show');
  return print(context, await api.read(pathOf(id)));
}

async function changeBackfill(context: CommandContext, id: string, order: JobOrder): Promise<ExitCode> {
  return print(context, await sendOrder(context, id, order));
}

/** Resumes a backfill: in a running serve, or here when none runs. */
async function resumeBackfill(context: CommandContext, id: string): Promise<ExitCode> {
  const resumed = await sendOrder(context, id, 'resume');
  const { store } = await context.openApp();
  return (await hasLiveScorer(store.duties)) ? print(context, resumed) : attachBackfill(context, id);
}

async function sendOrder(context: CommandContext, id: string, order: JobOrder): Promise<BackfillJson> {
  const api = await openApi(context, `backfill ${order}`);
  return api.write('POST', `${pathOf(id)}/${order}`);
}

function pathOf(id: string): string {
  return `/backfills/${encodeURIComponent(id)}`;
}

async function print({ out }: CommandContext, backfill: BackfillJson): Promise<ExitCode> {
  await out.document(backfill, () => showBackfill(backfill));
  return EXIT.done;
}

type BackfillJson = ReturnType<typeof backfillJson>;

/** Options of `backfill`. */
interface BackfillOptions extends Partial<Omit<z.output<typeof NewBackfill>, 'where'>> {
  readonly where?: WrittenConditions;
  readonly detach?: boolean;
}

/** Starts a backfill, or continues the open one with the same specification. */
async function startBackfill(context: CommandContext, options: BackfillOptions): Promise<ExitCode> {
  const { detach, where, from, ...rest } = options;
  const { rule = [], scorer = [], dryRun } = rest;
  if (from === undefined) {
    throw new RequestError("required option '--from <when>' is not given");
  }
  const { config } = await context.loadConfig();
  requireScorers(scorer, config);
  requireRules(rule, config);
  const body = { ...rest, from, where: where && writeConditions(where) };
  const { planBackfill } = await import('../../jobs/configured-backfill.ts');
  const kit = await loadKit(context);
  // Faults are told by the names of options, and before a store is opened.
  await planBackfill({ config, kit }, readAsked(body, Date.now()), nameOption);
  const { onDemand, store } = await openScoring(context, { kit });
  if (detach === true && dryRun !== true) {
    await requireLiveScorer(store.duties);
  }
  const api = await openApi(context, 'backfill', { onDemand });
  const backfill = await api.write<BackfillJson>('POST', '/backfills', { body });
  if (dryRun === true) {
    return printDryRun(context, backfill as BackfillDryRun);
  }
  const { id } = backfill;
  if (detach === true) {
    await context.out.document(backfill, () => `backfill ${id}`);
    await requireTaker(store.jobs, id, context.signal);
    context.out.talk(`a running serve does it; to see how far it is: spanscore backfill show ${id}`);
    return EXIT.done;
  }
  return attachBackfill(context, id);
}

async function printDryRun({ out, signal }: CommandContext, dryRun: BackfillDryRun): Promise<ExitCode> {
  const { maxCostUsd, remaining, estimate } = dryRun;
  const { costUsd } = estimate;
  const isCapped = maxCostUsd !== null && costUsd !== null && costUsd > maxCostUsd;
  await out.document(dryRun, () =>
    [
      ['dry run', ...showCounts(dryRun), `${remaining} would be scored`].join(' · '),
      ...showEstimate(estimate),
      ...(isCapped ? [`the backfill would stop at its --max-cost of ${showMoney(maxCostUsd)}`] : []),
    ].join('\n'),
  );
  return signal.aborted ? EXIT.interrupted : EXIT.done;
}

/** Follows a backfill to its end, and runs it here unless another process has it. */
async function attachBackfill(context: CommandContext, id: string): Promise<ExitCode> {
  const { config, kit, scoring, store, isBesideLive } = await openScoring(context, {}, NEVER);
  const { configureBackfillKind } = await import('../../jobs/configured-backfill.ts');
  const kind = configureBackfillKind({ config, kit }, scoring, isBesideLive);
  const show = (each: Job) => showBackfill(backfillJson(each));
  const job = await runAttached(context, {
    store,
    id,
    kinds: [kind],
    isLeft: isBesideLive,
    show,
    toJson: backfillJson,
  });
  const { skipped, failed } = readBackfillReport(job.report);
  const code = await finishJob(context, job, {
    show,
    isIncomplete: Object.keys(failed).length > 0 || skipped[SKIPPED.maxCost] !== undefined,
    farewell: (await hasLiveScorer(store.duties))
      ? `detached: a running serve with this configuration continues it; to stop it: spanscore backfill pause ${id}`
      : `stopped here; the next serve continues it, or: spanscore backfill resume ${id}`,
  });
  if (code === EXIT.done) {
    explainNothing(context, job);
  }
  return code;
}

/** Prints the reason when a backfill scored nothing. */
function explainNothing({ out }: CommandContext, { report }: Job): void {
  const { matched, scored, skipped } = report as { matched: number; scored: number; skipped: object };
  if (matched === 0) {
    out.talk('no trace of an agent or a model began in this time; to list traces: spanscore traces');
  } else if (scored === 0 && Object.keys(skipped).every((code) => code === 'already_scored')) {
    const verb = matched === 1 ? 'was' : 'were';
    out.talk(`${formatAll(matched, 'trace')} ${verb} scored already: nothing was left to score`);
  }
}
