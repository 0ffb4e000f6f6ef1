import { jobJson, isoTime } from '../../api/json/rows.ts';
import { RequestError } from '../../domain/errors.ts';
import { formatCount } from '../../domain/plural.ts';
import { readRescoreReport, type ReasonCounts } from '../../jobs/stored-job.ts';
import type { Job } from '../../store/contracts/jobs.ts';
import { parseMoment } from '../arguments.ts';
import { auditCommand, loadKit, NEVER, openScoring } from '../open-api.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { requireScorers } from '../input/names.ts';
import { finishJob, requireLiveScorer, requireTaker, runAttached } from '../jobs/run-job.ts';
import { showReasons } from '../show/show-target.ts';

interface RescoreOptions {
  readonly failed?: boolean;
  readonly scorer?: string;
  readonly since?: number;
  readonly detach?: boolean;
}

export const registerRescore: RegisterCommand = (program, bind) => {
  withExamples(program.command('rescore'), [
    ['what failed in the last day', 'spanscore rescore --failed --since 24h'],
    ['a week, by a changed scorer', 'spanscore rescore --scorer faithfulness --since 7d'],
  ])
    .option('--failed', 'run the scorers of failed decisions again')
    .option('--scorer <name>', 'run this scorer again on all that it has scored, as it is configured now')
    .option(
      '--since <when>',
      'only targets whose last span arrived since 1h, 7d, or a date and time (default: all)',
      parseMoment,
    )
    .option('--detach', 'only create the job: a running serve does the work')
    .action(bind(rescore, { stopsItself: true }));
};

/** Makes the job itself: the API has no route for it. */
async function rescore(context: CommandContext, options: RescoreOptions): Promise<ExitCode> {
  const { scorer, since } = options;
  if ((options.failed === true) === (scorer !== undefined)) {
    throw new RequestError('name either --failed, or a scorer with --scorer');
  }
  const { config } = await context.loadConfig();
  requireScorers(scorer === undefined ? [] : [scorer], config);

  const { rescoreKind } = await import('../../jobs/rescore.ts');
  const { RESCORE, buildRescoreSpec } = await import('../../jobs/stored-job.ts');
  const { sessionSettings } = await import('../../scoring/setup/configured-scoring.ts');
  const { openJob } = await import('../../jobs/follow-job.ts');
  const { loadPurgeKey } = await import('../../purge/configured-purge.ts');
  const kit = await loadKit(context);
  const { rules } = kit;
  if (!rules.some(({ scorers }) => scorer === undefined || scorers.some(({ name }) => name === scorer))) {
    const what = scorer === undefined ? 'no rules are' : `no rule with the scorer ${scorer} is`;
    throw new RequestError(`${what} configured: only scorers of rules run again`);
  }
  const { store, scoring, isBesideLive } = await openScoring(context, { kit }, NEVER);
  if (options.detach === true) {
    await requireLiveScorer(store.duties);
  }
  const spec = { ...buildRescoreSpec(rules, { scorer, sinceMs: since }) };
  const subjects = scorer === undefined ? [] : [{ kind: 'scorer', id: scorer } as const];
  await auditCommand(context, 'rescore', { action: 'rescore.start', subjects });
  const { hide } = loadPurgeKey(config.store);
  const id = await openJob(store.jobs, { kind: RESCORE, tenant: '', spec }, hide);
  if (options.detach === true) {
    const job = await store.jobs.find(id);
    await context.out.document(job === undefined ? { id } : jobJson(job), () => `job ${id}`);
    await requireTaker(store.jobs, id, context.signal);
    context.out.talk(`a running serve does it; to do it here: ${commandLine(options)}`);
    return EXIT.done;
  }
  const { repairs } = store;
  const kind = rescoreKind({ scoring, repairs, rules, sessions: sessionSettings(config), hide });
  return finish(
    context,
    options,
    await runAttached(context, { store, id, kinds: [kind], show, toJson: jobJson, isLeft: isBesideLive }),
  );
}

async function finish(context: CommandContext, options: RescoreOptions, job: Job): Promise<ExitCode> {
  const { failed, skipped } = readRescoreReport(job.report);
  const code = await finishJob(context, job, {
    show,
    isIncomplete: Object.keys(failed).length > 0,
    farewell: `stopped here; a running serve with this configuration continues, or: ${commandLine(options)}`,
  });
  if (job.status === 'done') {
    explainSkipped(context, { ...skipped, ...failed });
  }
  return code;
}

/** Reasons for which decisions cannot be repaired, and what helps. */
const ADVICE: Readonly<Record<string, string>> = {
  evidence_gone: 'the spans are no longer stored (store.retention.spans), so nothing can be scored',
  rule_removed: 'the configuration no longer has the scorer in that rule',
  arriving: 'spans still arrive; live scoring decides these traces',
};

function explainSkipped({ out }: CommandContext, reasons: ReasonCounts): void {
  for (const [code, advice] of Object.entries(ADVICE)) {
    if (reasons[code] !== undefined) {
      out.talk(`${code}: ${advice}`);
    }
  }
}

function show(job: Job): string {
  if (job.status === 'queued' && job.checkpoint === null) {
    return `rescore ${job.id}: waits for a process that runs it`;
  }
  const { matched, scored, notApplicable, uncounted, remaining, ...reasons } = readRescoreReport(job.report);
  const parts = [
    `${formatCount(matched, 'trace')} looked at`,
    `${scored} scored`,
    ...(notApplicable > 0 ? [`${notApplicable} not applicable`] : []),
    ...(['failed', 'deferred', 'skipped'] as const).flatMap((kind) => showReasons(kind, reasons[kind])),
    ...(uncounted > 0 ? [`${uncounted} done before an interruption`] : []),
    ...(job.status === 'done' ? [] : [`${remaining} left`]),
    ...(job.costUsd > 0 ? [`${job.costUsd.toFixed(4)} USD`] : []),
    ...(job.error === '' ? [] : [`waits: ${job.error}`]),
  ];
  return `rescore ${job.id}: ${parts.join(' · ')}`;
}

/** Returns the command that continues the same job. Its time is fixed, because `7d` would mean another time later. */
function commandLine({ scorer, since }: RescoreOptions): string {
  const what = scorer === undefined ? '--failed' : `--scorer ${scorer}`;
  return `spanscore rescore ${what}${since === undefined ? '' : ` --since ${isoTime(since)}`}`;
}
