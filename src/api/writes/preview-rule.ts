import type { PreviewView } from '../lists/preview-view.ts';
import type { Caller } from '../access/request-access.ts';
import { ConfigError, InvalidInputError } from '../../domain/errors.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Config } from '../../configuration.ts';
import { findRule } from '../../scoring/setup/scorer-names.ts';
import type { ScoringOnDemand } from './scoring-on-demand.ts';

/** Time limits of a preview, shorter than the limit of its request, milliseconds: of the list of traces, and of the list with the verdicts. */
const [LISTING_LIMIT_MS, JUDGING_LIMIT_MS] = [8_000, 22_000];

/** Preview of a rule that a caller asks for. */
export interface AskedPreview {
  /** Name of a rule, or a rule as the configuration has it. */
  readonly rule: unknown;
  /** Length of the range up to now, milliseconds. */
  readonly lastMs: number;
  /** Traces that are really judged. */
  readonly sample: number;
}

/** Previews a rule within the tenant of a caller. Throws an `InvalidInputError` for a rule that cannot be previewed. */
export async function previewRule(
  {
    config,
    store,
    onDemand,
  }: { readonly config: Config; readonly store: Store; readonly onDemand: ScoringOnDemand },
  { tenant = '' }: Pick<Caller, 'tenant'>,
  { rule: asked, lastMs, sample }: AskedPreview,
): Promise<PreviewView> {
  const { prepareWrittenRule, previewConfigured } = await import('../../preview/preview-configured.ts');
  const listing = AbortSignal.timeout(LISTING_LIMIT_MS);
  const judging = AbortSignal.timeout(JUDGING_LIMIT_MS);
  try {
    const { kit, scoring } = await onDemand.load();
    const rule =
      typeof asked === 'string' ? findRule(kit.rules, asked) : await prepareWrittenRule(kit, config, asked);
    return await previewConfigured(
      { config, kit, scoring, store },
      { rule, lastMs, sample, tenant, listing, judging },
    );
  } catch (error) {
    throw error instanceof ConfigError ? new InvalidInputError(error.message, {}, error) : error;
  }
}
