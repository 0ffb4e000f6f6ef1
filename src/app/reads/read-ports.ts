import type { ReadPorts } from '../../api/lists/read-ports.ts';
import type { ListFilters } from '../../store/contracts/lists.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Config } from '../config/index.ts';
import { readRowNames } from './row-names.ts';
import { createConfigurationPorts, type ConfigurationSource } from './configuration-ports.ts';
import { createSessionPorts } from './session-ports.ts';
import { createScorePorts } from './score-ports.ts';
import type { ExplainTrace } from './scope-options.ts';
import { createTracePorts } from './trace-ports.ts';

/** Additions to the reads of a process that scores. */
export interface ProcessReads extends Partial<Pick<ConfigurationSource, 'runRules' | 'judgeState'>> {
  /** Finds the reasons why rules have no decision on a trace. */
  readonly explain?: ExplainTrace;
}

/** Creates the reads of the API for one tenant, or for all. */
export function createReadPorts(
  config: Config,
  store: Store,
  { explain = async () => [], runRules, judgeState }: ProcessReads = {},
): (tenant: string | undefined) => ReadPorts {
  return (tenant) => {
    const namedRows = async (filters: ListFilters): Promise<ListFilters> => {
      if (filters.scorer === undefined) {
        return filters;
      }
      const rows = await readRowNames(config, store, tenant);
      return { ...filters, scorer: filters.scorer.flatMap((name) => [name, ...rows.of(name)]) };
    };
    const options = { tenant, namedRows, explain };
    return {
      scores: createScorePorts(store, options),
      traces: createTracePorts(store, options),
      sessions: createSessionPorts(store, options),
      configuration: createConfigurationPorts({ config, store, runRules, judgeState }, tenant),
    };
  };
}
