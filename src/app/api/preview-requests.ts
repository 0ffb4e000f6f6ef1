import type { PreviewWrites } from '../../api/access/write-ports.ts';
import type { Caller } from '../../api/api-env.ts';
import { ConfigError, InvalidInputError } from '../../domain/errors.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Config } from '../config/index.ts';
import { prepareWrittenRule, previewConfigured } from '../preview/preview-configured.ts';
import { findRule } from '../scoring/rule-names.ts';
import type { ScoringOnDemand } from './scoring-on-demand.ts';

/** Times of a preview within that of a request, milliseconds: for the list of traces, and for the verdicts too. */
const [LISTING_LIMIT_MS, JUDGING_LIMIT_MS] = [8_000, 22_000];

/** Creates the previews of rules within the tenant of a caller. */
export function createPreviewWrites(
  {
    config,
    store,
    onDemand,
  }: { readonly config: Config; readonly store: Store; readonly onDemand: ScoringOnDemand },
  { tenant = '' }: Pick<Caller, 'tenant'>,
): PreviewWrites {
  return {
    async preview({ rule: asked, lastMs, sample }) {
      const [listing, judging] = [LISTING_LIMIT_MS, JUDGING_LIMIT_MS].map((ms) => AbortSignal.timeout(ms));
      try {
        const { kit, scoring } = await onDemand.load();
        const rule =
          typeof asked === 'string'
            ? findRule(kit.rules, asked)
            : await prepareWrittenRule(kit, config, asked);
        const limits = { listing: listing as AbortSignal, judging: judging as AbortSignal };
        return await previewConfigured(
          { config, kit, scoring, store },
          { rule, lastMs, sample, tenant, ...limits },
        );
      } catch (error) {
        throw error instanceof ConfigError ? new InvalidInputError(error.message, {}, error) : error;
      }
    },
  };
}
