import type { Config } from '../../configuration.ts';
import type { IssueRow } from '../../domain/failure.ts';
import type { WholeCase } from '../../domain/issue-case.ts';
import { findRowScorer } from '../../domain/score-rows.ts';
import { buildCase, type CaseTerms } from '../../issues/build-case.ts';
import { listTargets } from '../../scoring/select/targets.ts';
import { createPassLineFinder, listConfiguredScorers } from '../../scoring/setup/scorer-names.ts';
import { joinTraceKey } from '../../store/contracts/stores.ts';
import type { Store } from '../../store/store.ts';
import { readSteps, readStoredTrace } from './traces.ts';

/** Failures that are looked at for one case: of some, the spans have expired, and others repeat a case. */
const FAILURES_PER_CASE = 5;

export interface CaseStores {
  readonly config: Config;
  readonly store: Pick<Store, 'failures' | 'runs' | 'scores' | 'spans'>;
}

/** Time after all runs, Unix milliseconds. */
const FAR_MS = Date.UTC(2200, 0);

/** Reads the newest different cases of an issue. A failure whose spans are no longer stored makes none. */
export async function readCases(
  { config, store }: CaseStores,
  { tenant, issueId }: Pick<IssueRow, 'tenant' | 'issueId'>,
  limit: number,
): Promise<WholeCase[]> {
  const terms = createTerms(config);
  const range = { tenant, issueId, sinceMs: 0, untilMs: FAR_MS };
  const failures = await store.failures.examples(range, limit * FAILURES_PER_CASE);
  const scores = await store.scores.ofTraces(failures);
  const cases = new Map<string, WholeCase>();
  for (const failure of failures) {
    const activity = (await store.spans.findTrace(failure.traceId)).find((each) => each.tenant === tenant);
    if (activity !== undefined && cases.size < limit) {
      const { data } = await readStoredTrace(store.spans, activity);
      const { reading } = await readSteps(data);
      const run = listTargets(reading, 'trace').find(({ targetId }) => targetId === failure.targetId)?.run;
      if (run !== undefined) {
        const ofRun = (scores.get(joinTraceKey(failure)) ?? []).filter(
          ({ targetId }) => targetId === failure.targetId,
        );
        const built = await buildCase({ issueId, failure, data, run, scores: ofRun }, terms);
        const name = JSON.stringify([built.shown.input, built.shown.output]);
        cases.set(name, cases.get(name) ?? built);
      }
    }
  }
  return [...cases.values()];
}

function createTerms(config: Config): CaseTerms {
  const configured = listConfiguredScorers(config);
  const findLine = createPassLineFinder(config);
  return {
    redaction: config.redaction,
    findBar: async (row) => {
      const owner = findRowScorer(row, configured);
      return owner === undefined ? undefined : (config.scorers[owner]?.failBelow ?? (await findLine(row)));
    },
  };
}
