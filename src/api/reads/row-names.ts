import { PREBUILT_SCORERS } from '../../components.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Config } from '../../configuration.ts';
import { listConfiguredScorers } from '../../scoring/setup/scorer-names.ts';

/** Names of score rows: the known ones, and those of one scorer. */
export interface RowNames {
  /** Names that are configured or stored. */
  readonly known: ReadonlySet<string>;
  /** Returns the rows of a scorer (`grounding` and `panel` have several), or the row of this name; none for an unknown name. */
  of(name: string): readonly string[];
}

/** Reads the names of score rows of this configuration, and of earlier ones, for one tenant or for all. */
export async function readRowNames(
  config: Config,
  store: Pick<Store, 'scorerNames'>,
  tenant?: string,
): Promise<RowNames> {
  const configured = listConfiguredScorers(config);
  const declared = PREBUILT_SCORERS.flatMap(({ rows = [] }) => rows);
  const rows = new Set([...declared, ...(await store.scorerNames(tenant))]);
  return {
    known: new Set([...configured, ...rows]),
    of: (name) =>
      configured.has(name)
        ? [...new Set([name, ...rows])].filter((row) => findRowScorer(row, configured) === name)
        : rows.has(name)
          ? [name]
          : [],
  };
}
