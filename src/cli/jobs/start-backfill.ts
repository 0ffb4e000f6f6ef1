import { backfillJson } from '../../api/json/rows.ts';
import { formatAll } from '../../domain/plural.ts';
import type { Job } from '../../store/contracts/jobs.ts';
import { auditCommand } from '../audit-command.ts';
import type { CommandContext } from '../command.ts';
import { RequestError } from '../../domain/errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { nameOption, writeConditions, type WrittenConditions } from '../input/backfill-options.ts';
import { requireRules } from '../input/rule-names.ts';
import { requireScorers } from '../input/scorer-names.ts';
import { showBackfill } from '../show/show-backfill.ts';
import { finishJob, runAttached } from './run-job.ts';

/** Options of `backfill`. */
export interface BackfillOptions {
  readonly from?: number;
  readonly to?: number;
  readonly rule?: string[];
  readonly scorer?: string[];
  readonly where?: WrittenConditions;
  readonly sample?: number;
  readonly rate?: number;
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
  const { loadScorerKit } = await import('../../app/scoring/scorer-kit.ts');
  const { planBackfill } = await import('../../app/jobs/backfills.ts');
  const kit = await loadScorerKit(config, context);
  const spec = await planBackfill(
    { config, kit },
    {
      fromMs: from,
      toMs: to,
      rules: rule,
      scorers: scorer,
      where: options.where === undefined ? undefined : writeConditions(options.where),
      sample: options.sample,
      rescore: options.rescore,
      limits: {
        tracesPerSecond: options.rate,
        maxCostUsd: options.maxCost,
        concurrency: options.concurrency,
        judgeShare: options.judgeShare,
      },
    },
    nameOption,
  );
  if (dryRun === true) {
    const { dryRunHere } = await import('./dry-run.ts');
    return dryRunHere(context, kit, spec);
  }
  const { store } = await context.openApp();
  const { BACKFILL } = await import('../../backfill/backfill-job.ts');
  const { openJob } = await import('../../jobs/follow-job.ts');
  const { loadPurgeKey } = await import('../../app/jobs/purges.ts');
  if (detach === true) {
    const { requireLiveScorer } = await import('./leave-job.ts');
    await requireLiveScorer(store.duties);
  }
  await auditCommand(context, 'backfill', { action: 'backfill.start', subjects: [] });
  const { hide } = loadPurgeKey(config.store);
  const id = await openJob(store.jobs, { kind: BACKFILL, tenant: '', spec: { ...spec } }, hide);
  if (detach === true) {
    const { findBackfill } = await import('../../app/jobs/backfill-jobs.ts');
    const job = await findBackfill(store.jobs, id);
    await context.out.document(backfillJson(job), () => `backfill ${id}`);
    const { requireTaker } = await import('./leave-job.ts');
    await requireTaker(store.jobs, id, context.signal);
    context.out.talk(`a running serve does it; to see how far it is: spanscore backfill show ${id}`);
    return EXIT.done;
  }
  return attachBackfill(context, id);
}

/** Follows a backfill to its end, and runs it here unless another process has it. */
export async function attachBackfill(context: CommandContext, id: string): Promise<ExitCode> {
  const { config } = await context.loadConfig();
  const { store, purged, readTrace } = await context.openApp();
  const { loadScorerKit } = await import('../../app/scoring/scorer-kit.ts');
  const { createConfiguredScoring } = await import('../../app/scoring/configured-scoring.ts');
  const { configureBackfillKind } = await import('../../app/jobs/backfills.ts');
  const { hasLiveScorer } = await import('../../app/scoring/live-scorers.ts');
  const { readBackfillReport, SKIPPED } = await import('../../backfill/backfill-report.ts');
  const { log } = context;
  const kit = await loadScorerKit(config, context);
  const scoring = createConfiguredScoring({ config, kit, stores: store, readTrace, log, purged });
  const isBesideLive = await hasLiveScorer(store.duties);
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
