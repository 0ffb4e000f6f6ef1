import type { Route } from '../../api/api.ts';
import { monitorRoutes } from '../../api/monitor-routes.ts';
import type { Config } from '../config/index.ts';
import { acknowledgeIncident, muteSubject, unmuteSubject } from './alert-replies.ts';
import { compareDeploys } from './compare-deploys.ts';
import { configuredMonitors, keyedRules, readStandings } from './configured-monitors.ts';
import type { Store } from '../../store/contracts/store.ts';

/** Creates the monitor routes of the API. Throws a `ConfigError` for rules that cannot be used. */
export async function configuredMonitorRoutes(config: Config, store: Store): Promise<Route[]> {
  const rules = keyedRules(await configuredMonitors(config));
  const names = rules.map(({ rule }) => rule.alert);
  const { alerts, markers, monitorView, spans } = store;
  return monitorRoutes({
    standings: (page) => readStandings(rules, monitorView, page),
    alerts,
    markers,
    nowMs: () => spans.nowMs(),
    compare: (version, tenant) => compareDeploys(markers, { version, tenant }),
    acknowledge: (incident, tenant) => acknowledgeIncident(alerts, incident, tenant),
    mute: async (mute) => muteSubject(alerts, mute, { names, nowMs: await spans.nowMs() }),
    unmute: (subject, tenant) => unmuteSubject(alerts, subject, tenant),
  });
}
