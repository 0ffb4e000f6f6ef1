import type { Caller } from '../../api/api-env.ts';
import type { StorePorts } from '../../api/ports.ts';
import type { Config } from '../config/index.ts';
import { createLabelPorts } from '../labels/label-ports.ts';
import { coverageLines } from '../../api/json/coverage-json.ts';
import { createAggregatePorts } from '../aggregates/aggregate-ports.ts';
import { countCoverage, countDecided } from '../aggregates/count-coverage.ts';
import { createBackfillPorts } from '../api/backfill-requests.ts';
import { findJob } from '../api/purge-requests.ts';
import { createWriteOpener, type WriteParts } from '../api/write-ports.ts';
import { createReadPorts, type ProcessReads } from '../reads/read-ports.ts';
import { createPassLineFinder } from '../scoring/scorer-scales.ts';
import { compareDeploys } from './compare-deploys.ts';
import { configuredMonitors, createStandings, keyedRules } from './configured-monitors.ts';
import { ALL_TENANTS } from '../../monitors/mute.ts';
import type { Store } from '../../store/contracts/store.ts';

/**
 * Creates the ports of the API on the store. The ports of a caller see its tenant only. Throws a `ConfigError` for monitors that
 * cannot be used.
 * @param store store of the reads
 * @param writes store of the writes, and what else they need; default: the same store
 */
export async function configuredPorts(
  config: Config,
  store: Store,
  ofProcess: ProcessReads = {},
  writes: WriteParts = { store },
): Promise<(caller: Caller) => StorePorts> {
  const rules = keyedRules(await configuredMonitors(config));
  const standings = createStandings(rules, store.monitorView);
  const { alerts, markers, spans } = store;
  const { runRules } = ofProcess;
  const { stopping = new AbortController().signal } = writes;
  const findPassLine = createPassLineFinder(config, runRules);
  const openWrites = createWriteOpener(config, { ...writes, findPassLine }, rules);
  const readPorts = createReadPorts(config, store, ofProcess);
  return ({ name, tenant }) => ({
    nowMs: () => spans.nowMs(),
    standings: {
      list: (filter, page) => standings.list({ ...filter, tenant }, page),
      listFiring: (filter, limit) => standings.read({ ...filter, tenant }, limit),
    },
    alerts: {
      list: (filter, page) => alerts.list({ ...filter, tenant }, page),
      mutes: async () => {
        const active = await alerts.mutes();
        return active.filter((mute) => tenant === undefined || [ALL_TENANTS, tenant].includes(mute.tenant));
      },
      listMutes: (page) => alerts.listMutes(tenant, page),
      acknowledged: () => alerts.acknowledged(),
    },
    ...readPorts(tenant),
    markers: {
      list: (filter, page) => markers.list({ ...filter, tenant }, page),
      compare: (version) => compareDeploys(markers, { version, tenant }),
    },
    aggregates: createAggregatePorts({
      config,
      store,
      tenant,
      findPassLine,
      readStatuses: (limit) => standings.read({ tenant }, limit),
      countEligible: async (sinceMs) => {
        const { rows } = await countDecided(store, { sinceMs, tenant }, runRules);
        const lines = coverageLines(rows, undefined, { by: 'scorer', sinceMs });
        return new Map(lines.map(({ scorer = '', eligible, scored }) => [scorer, { eligible, scored }]));
      },
    }),
    labels: createLabelPorts(config, store, { name, tenant, findPassLine }),
    coverage: (request) => countCoverage(store, { ...request, tenant }, runRules),
    backfills: createBackfillPorts(store.jobs, { tenant }, stopping),
    findJob: (id) => findJob(config, store, { name, tenant }, id),
    openWrites: (write) => openWrites({ name, tenant }, write),
  });
}
