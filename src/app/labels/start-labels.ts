import type { FindPassLine } from '../../labels/read-agreement.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { startPostedJoins } from '../api/start-posted-joins.ts';
import type { DutyDeps } from '../repeat-duty.ts';
import type { StartedPart } from '../stop-parts.ts';
import { startLabelAgreement } from './start-label-agreement.ts';

/** Starts what a scorer process does for the scores of people and programs. */
export function startLabels(
  store: Store,
  {
    metrics,
    findPassLine,
    ...deps
  }: DutyDeps & { readonly metrics: Metrics; readonly findPassLine: FindPassLine },
): StartedPart[] {
  return [startPostedJoins(store, deps), startLabelAgreement(store, { ...deps, metrics, findPassLine })];
}
