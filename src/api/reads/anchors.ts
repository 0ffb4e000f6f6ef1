import { type AnchorStanding, buildAnchorSets, describeAnchors } from '../../monitors/anchor-sets.ts';
import { JUDGINGS_READ_MS, judgeThresholds } from '../../monitors/live/watch-judges.ts';
import { readRowNames } from './configuration.ts';
import type { ReadScope } from './traces.ts';

/** Creates the read of anchors: of one scorer or all scorers, of one tenant or all tenants. */
export function createAnchorReads({ config, store, tenant }: ReadScope) {
  return async (scorer: string | undefined): Promise<AnchorStanding[]> => {
    const nowMs = await store.spans.nowMs();
    const [rows, drifts, labelled] = await Promise.all([
      store.anchors.since(nowMs - JUDGINGS_READ_MS),
      store.alerts.judgeDrifts(),
      store.anchors.labelled(),
    ]);
    const own = rows.filter((row) => tenant === undefined || row.tenant === tenant);
    const sets = buildAnchorSets(own, drifts);
    const { size } = config.judges.anchors;
    const standings = describeAnchors(sets, { size, labelled, thresholds: judgeThresholds(sets.length) });
    const names = scorer === undefined ? undefined : (await readRowNames(config, store, tenant)).of(scorer);
    return standings.filter((each) => names?.includes(each.scorer) ?? true);
  };
}
