import { ConfigError, findCause } from '../domain/errors.ts';
import { findForeignScorer } from '../jobs/foreign-scorers.ts';
import type { JobKind } from '../jobs/job-kind.ts';
import type { PreparedRule } from '../scoring/select/rule.ts';
import { BackfillRun, type BackfillWork } from './backfill-run.ts';
import { listFingerprints, readBackfillSpec, type BackfillRule } from './backfill-spec.ts';

/** Name of the kind of job. */
export const BACKFILL = 'backfill';

export interface BackfillDeps extends Omit<BackfillWork, 'rules'> {
  /** Prepares a rule with the scorers of the configuration. Throws a `ConfigError` when it lacks one. */
  readonly bindRule: (rule: BackfillRule) => Promise<PreparedRule>;
}

/** Creates the kind of job that scores stored traces with the code of live scoring. */
export function backfillKind(deps: BackfillDeps): JobKind {
  return {
    name: BACKFILL,
    refuse: async (job) => {
      const spec = readBackfillSpec(job.spec);
      try {
        return findForeignScorer(listFingerprints(spec), await Promise.all(spec.rules.map(deps.bindRule)));
      } catch (error) {
        const fault = findCause(error, ConfigError);
        if (fault === null) {
          throw error;
        }
        return `its configuration cannot run the scorers: ${fault.message}`;
      }
    },
    run: async (job, run) => {
      const rules = await Promise.all(readBackfillSpec(job.spec).rules.map(deps.bindRule));
      return new BackfillRun({ ...deps, rules }, job, run).finish();
    },
  };
}
