import { previewConfigured } from '../../app/jobs/backfills.ts';
import { createConfiguredScoring } from '../../app/scoring/configured-scoring.ts';
import type { ScorerKit } from '../../app/scoring/scorer-kit.ts';
import type { BackfillSpec } from '../../backfill/backfill-spec.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { showCounts } from '../show/show-backfill.ts';

/** Prints what a backfill would do. */
export async function previewHere(
  context: CommandContext,
  kit: ScorerKit,
  spec: BackfillSpec,
): Promise<ExitCode> {
  const { config } = await context.loadConfig();
  const { store, purged, readTrace } = await context.openApp();
  const { log, signal, out } = context;
  const scoring = createConfiguredScoring({ config, kit, stores: store, readTrace, log, signal, purged });
  const preview = await previewConfigured({ config, kit }, scoring, { spec, tenant: '', signal });
  await out.document(preview, () =>
    ['dry run', ...showCounts(preview), `${preview.remaining} would be scored`].join(' · '),
  );
  return signal.aborted ? EXIT.interrupted : EXIT.done;
}
