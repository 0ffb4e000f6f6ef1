import { backfillJson } from '../../api/json/rows.ts';
import { formatAll } from '../../domain/plural.ts';
import type { Job } from '../../store/contracts/jobs.ts';
import { loadKit, NEVER, openApi, openScoring } from '../open-api.ts';
import type { BackfillDryRun } from '../../app/jobs/backfills.ts';
import { requireLiveScorer, requireTaker } from './run-job.ts';
import { showCounts } from '../show/show-backfill.ts';
import { showEstimate, showMoney } from '../show/show-estimate.ts';
import { isoTime } from '../../api/json/rows.ts';
import type { CommandContext } from '../command.ts';
import { RequestError } from '../../domain/errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { nameOption, writeConditions, type WrittenConditions } from '../input/backfill-options.ts';
import { requireRules } from '../input/rule-names.ts';
import { requireScorers } from '../input/scorer-names.ts';
import { showBackfill } from '../show/show-backfill.ts';
import { finishJob, runAttached } from './run-job.ts';

type BackfillJson = ReturnType<typeof backfillJson>;

/** Options of `backfill`. */
export interface BackfillOptions {
  readonly from?: number;
  readonly to?: number;
  readonly rule?: string[];
  readonly scorer?: string[];
  readonly where?: WrittenConditions;
  readonly sample?: number;
  readonly rate?: string;
  readonly maxCost?: number;
  readonly concurrency?: number;
  readonly judgeShare?: number;
  readonly rescore?: boolean;
  readonly dryRun?: boolean;
  readonly detach?: boolean;
}

/** Starts a backfill, or continues the open one with the same specification. */
export async function startBackfill(context: CommandContext, options: BackfillOptions): Promise<ExitCode> {
  const { from, to = Date.now(), rule, scorer, dryRun, detach } = options;
  if (from === undefined) {
    throw new RequestError("required option '--from <when>' is not given");
  }
  const { config } = await context.loadConfig();
  requireScorers(scorer ?? [], config);
  requireRules(rule ?? [], config);
  const kit = await loadKit(context);
  const { onDemand, store } = await openScoring(context, { kit });
  if (detach === true && dryRun !== true) {
    await requireLiveScorer(store.duties);
  }
  const api = await openApi(context, 'backfill', { onDemand: { ...onDemand, nameField: nameOption } });
  const { where, rate, maxCost, sample, concurrency, judgeShare, rescore } = options;
  const body = {
    from: isoTime(from),
    to: isoTime(to),
    rule,
    scorer,
    where: where === undefined ? undefined : writeConditions(where),
    maxCostUsd: maxCost,
    sample,
    rate,
    concurrency,
    judgeShare,
    rescore,
    dryRun,
  };
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

/** Prints what a backfill would do and cost. */
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
export async function attachBackfill(context: CommandContext, id: string): Promise<ExitCode> {
  const { config, kit, scoring, store, isBesideLive } = await openScoring(context, {}, NEVER);
  const { configureBackfillKind } = await import('../../app/jobs/backfills.ts');
  const { hasLiveScorer } = await import('../../app/scoring/live-scorers.ts');
  const { readBackfillReport, SKIPPED } = await import('../../backfill/backfill-report.ts');
  const kind = configureBackfillKind({ config, kit }, scoring, isBesideLive);
  const attached = {
    store,
    id,
    kinds: [kind],
    takesAlone: !isBesideLive,
    isLeft: isBesideLive,
    show: (each: Job) => showBackfill(backfillJson(each)),
    toJson: backfillJson,
  };
  const job = await runAttached(context, attached);
  const { skipped, failed } = readBackfillReport(job.report);
  const code = await finishJob(context, job, {
    show: (each: Job) => showBackfill(backfillJson(each)),
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
