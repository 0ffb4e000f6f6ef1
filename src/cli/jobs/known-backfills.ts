import type { backfillJson } from '../../api/json/backfill-json.ts';
import { hasLiveScorer } from '../../app/scoring/live-scorers.ts';
import { readBackfillReport } from '../../backfill/backfill-report.ts';
import { readBackfillSpec } from '../../backfill/backfill-spec.ts';
import type { JobOrder } from '../../store/contracts/jobs.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { openApi } from '../open-api.ts';
import { table } from '../show/output.ts';
import { showBackfill } from '../show/show-backfill.ts';
import { attachBackfill } from './start-backfill.ts';

type BackfillJson = ReturnType<typeof backfillJson>;

/** Prints the newest backfills. */
export async function listBackfills(
  context: CommandContext,
  { limit }: { limit: number },
): Promise<ExitCode> {
  const api = await openApi(context, 'backfill list');
  const { items } = await api.read<{ readonly items: readonly BackfillJson[] }>('/backfills', { limit });
  if (context.out.json) {
    for (const backfill of items) {
      await context.out.item(backfill, () => '');
    }
  } else if (items.length > 0) {
    await context.out.text(
      table(['ID', 'STATUS', 'FROM', 'TO', 'TRACES', 'SCORED', 'LEFT', 'USD'], items.map(listCells)),
    );
  } else {
    context.out.talk('there are no backfills');
  }
  return EXIT.done;
}

function listCells(backfill: BackfillJson): string[] {
  const { id, status, spec, costUsd } = backfill;
  const { from, to } = readBackfillSpec(spec);
  const { matched, scored, remaining } = readBackfillReport(backfill);
  return [id, status, from, to, ...[matched, scored, remaining].map(String), costUsd.toFixed(4)];
}

/** Prints how far one backfill is. */
export async function showOneBackfill(context: CommandContext, id: string): Promise<ExitCode> {
  const api = await openApi(context, 'backfill show');
  return print(context, await api.read(pathOf(id)));
}

/** Pauses or cancels a backfill. */
export async function changeBackfill(
  context: CommandContext,
  id: string,
  order: JobOrder,
): Promise<ExitCode> {
  return print(context, await sendOrder(context, id, order));
}

/** Resumes a backfill: in a running serve, or here when none runs. */
export async function resumeBackfill(context: CommandContext, id: string): Promise<ExitCode> {
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
