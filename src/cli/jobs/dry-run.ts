import { dryRunConfigured } from '../../api/writes/backfill-dry-run.ts';
import { createConfiguredScoring } from '../../scoring/setup/configured-scoring.ts';
import { hasLiveScorer } from '../../aggregates/refresh-aggregates.ts';
import type { ScorerKit } from '../../scoring/setup/scorer-kit.ts';
import type { BackfillSpec } from '../../backfill/backfill-spec.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { showCounts } from '../show/show-backfill.ts';
import { showEstimate, showMoney } from '../show/show-estimate.ts';

/** Prints what a backfill would do and cost. */
export async function dryRunHere(
  context: CommandContext,
  kit: ScorerKit,
  spec: BackfillSpec,
): Promise<ExitCode> {
  const { config } = await context.loadConfig();
  const { store, purged, readTrace } = await context.openApp();
  const { log, signal, out } = context;
  const scoring = createConfiguredScoring({ config, kit, stores: store, readTrace, log, signal, purged });
  const isBesideLive = await hasLiveScorer(store.duties);
  const { judgeUse } = store;
  const dryRun = await dryRunConfigured(
    { config, kit, scoring, judgeUse, isBesideLive },
    { spec, tenant: '', signal },
  );
  await out.document(dryRun, () =>
    [
      ['dry run', ...showCounts(dryRun), `${dryRun.remaining} would be scored`].join(' · '),
      ...showEstimate(dryRun.estimate),
      ...showCap(dryRun),
    ].join('\n'),
  );
  return signal.aborted ? EXIT.interrupted : EXIT.done;
}

/** Says that the money of the backfill would not be enough. */
function showCap({
  maxCostUsd,
  estimate: { costUsd },
}: Awaited<ReturnType<typeof dryRunConfigured>>): string[] {
  return maxCostUsd !== null && costUsd !== null && costUsd > maxCostUsd
    ? [`the backfill would stop at its --max-cost of ${showMoney(maxCostUsd)}`]
    : [];
}
