import { startBatchKeeper, type BatchKeeper, type KeeperOptions } from '../../batches/batch-keeper.ts';
import { createBatchClient } from '../../judge/batch/batch-client.ts';
import { readProvider } from '../../judge/judge-registry.ts';
import { outboundFetch } from '../../outbound/http/proxies.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Log } from '../../telemetry/log.ts';
import { listConfiguredBudgets } from '../budgets/configured-budgets.ts';
import type { Config } from '../config/index.ts';

/**
 * Starts to keep the batches of judges of a store, with the providers of the configuration. A process without such a provider leaves
 * them to the other processes, and asks the store nothing.
 */
export function keepBatches(
  config: Config,
  { judgeBatches, jobs, judgeCalls, duties, spans }: Store,
  log: Log,
  options: KeeperOptions = {},
): BatchKeeper {
  const { judges } = config;
  const isBatchProvider = (name: string) =>
    Object.hasOwn(judges.providers, name) && judges.providers[name]?.batch === 'openai';
  if (!Object.keys(judges.providers).some(isBatchProvider)) {
    return { stop: () => Promise.resolve() };
  }
  const deps = {
    batches: judgeBatches,
    jobs,
    judgeCalls,
    duties,
    findClient: (name: string, signal: AbortSignal) => {
      if (!isBatchProvider(name)) {
        return undefined;
      }
      const { baseURL, apiKey } = readProvider(name, name, judges);
      return createBatchClient({ name, baseURL, apiKey }, outboundFetch, signal);
    },
    prices: judges.prices,
    budgets: listConfiguredBudgets(config),
    nowMs: () => spans.nowMs(),
    log,
  };
  return startBatchKeeper(deps, options);
}
