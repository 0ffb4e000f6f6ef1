import { backfillJson } from '../../api/json/backfill-json.ts';
import { findBackfill, orderBackfill } from '../../app/jobs/backfill-jobs.ts';
import { hasLiveScorer } from '../../app/scoring/live-scorers.ts';
import { BACKFILL } from '../../backfill/backfill-job.ts';
import { readBackfillReport } from '../../backfill/backfill-report.ts';
import { readBackfillSpec } from '../../backfill/backfill-spec.ts';
import type { Job, JobOrder } from '../../store/contracts/jobs.ts';
import { auditCommand } from '../audit-command.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { table } from '../show/output.ts';
import { showBackfill } from '../show/show-backfill.ts';
import { attachBackfill } from './start-backfill.ts';

/** Prints the newest backfills. */
export async function listBackfills(
  context: CommandContext,
  { limit }: { limit: number },
): Promise<ExitCode> {
  const { store } = await context.openApp();
  const { items: listed } = await store.jobs.list({ kind: BACKFILL }, { limit });
  if (context.out.json) {
    for (const job of listed) {
      await context.out.item(backfillJson(job), () => '');
    }
  } else if (listed.length > 0) {
    await context.out.text(
      table(['ID', 'STATUS', 'FROM', 'TO', 'TRACES', 'SCORED', 'LEFT', 'USD'], listed.map(listCells)),
    );
  } else {
    context.out.talk('there are no backfills');
  }
  return EXIT.done;
}

function listCells(job: Job): string[] {
  const { from, to } = readBackfillSpec(job.spec);
  const { matched, scored, remaining } = readBackfillReport(job.report);
  const counts = [matched, scored, remaining].map(String);
  return [job.id, job.status, from, to, ...counts, job.costUsd.toFixed(4)];
}

/** Prints how far one backfill is. */
export async function showOneBackfill(context: CommandContext, id: string): Promise<ExitCode> {
  const { store } = await context.openApp();
  return print(context, await findBackfill(store.jobs, id));
}

/** Pauses or cancels a backfill. */
export async function changeBackfill(
  context: CommandContext,
  id: string,
  order: JobOrder,
): Promise<ExitCode> {
  const { store } = await context.openApp();
  await auditOrder(context, id, order);
  return print(context, await orderBackfill(store.jobs, await findBackfill(store.jobs, id), order));
}

/** Resumes a backfill: in a running serve, or here when none runs. */
export async function resumeBackfill(context: CommandContext, id: string): Promise<ExitCode> {
  const { store } = await context.openApp();
  await auditOrder(context, id, 'resume');
  const job = await orderBackfill(store.jobs, await findBackfill(store.jobs, id), 'resume');
  return (await hasLiveScorer(store.duties)) ? print(context, job) : attachBackfill(context, id);
}

function auditOrder(context: CommandContext, id: string, order: JobOrder): Promise<void> {
  const subjects = [{ kind: 'backfill', id }] as const;
  return auditCommand(context, `backfill ${order}`, { action: `backfill.${order}`, subjects });
}

async function print({ out }: CommandContext, job: Job): Promise<ExitCode> {
  await out.document(backfillJson(job), () => showBackfill(job));
  return EXIT.done;
}
