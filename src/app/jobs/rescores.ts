import type { JobKind } from '../../jobs/job-kind.ts';
import { rescoreKind } from '../../jobs/rescore.ts';
import type { Scoring } from '../../scoring/scoring.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Config } from '../config/index.ts';
import { sessionSettings } from '../scoring/configured-scoring.ts';
import type { ScorerKit } from '../scoring/scorer-kit.ts';
import { loadPurgeKey } from './purges.ts';

/** Creates the kind of job that runs rescores with the scorers of the configuration. */
export function configureRescoreKind(
  config: Config,
  { kit, scoring, repairs }: { readonly kit: ScorerKit; readonly scoring: Scoring } & Pick<Store, 'repairs'>,
): JobKind {
  const { hide } = loadPurgeKey(config.store);
  return rescoreKind({ scoring, repairs, rules: kit.rules, sessions: sessionSettings(config), hide });
}
