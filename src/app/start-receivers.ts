import { RECEIVERS } from '../components.ts';
import type { Config } from './config/index.ts';
import type { StartReceiver } from '../../collector/receivers/receiver.ts';
import type { ReceiverDefinition } from '../../collector/receivers/receiver-definition.ts';
import { listReceivers } from '../config/schema/components.ts';
import type { ReadinessCheck } from '../domain/readiness-check.ts';
import type { PurgedTraces } from '../store/contracts/purge.ts';
import type { DeadLetterSink } from '../store/contracts/dead-letters.ts';
import type { SpanSink } from '../store/contracts/span-sink.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** The receivers of one process. */
export interface Receivers {
  /** Addresses of the receivers that listen, by name. */
  readonly addresses: ReadonlyMap<string, ListenAddress>;
  /** Readiness checks of the receivers. */
  readonly checks: readonly ReadinessCheck[];
  stop(): Promise<void>;
}

/** Stores that receivers write to. */
export interface ReceiverStores {
  readonly sink: SpanSink;
  readonly deadLetters: DeadLetterSink;
  readonly purged: PurgedTraces;
}

interface Telemetry {
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Configures the receivers that a configuration has options for. Throws a `ConfigError` for a file that cannot be used. */
export async function configureReceivers(
  config: Pick<Config, 'receivers'>,
  kinds: readonly ReceiverDefinition[],
  log: Log,
): Promise<Map<string, StartReceiver>> {
  const starts = await Promise.all(
    listReceivers(config, kinds).map(
      async ({ section, options }) => [section.name, await section.configure(options, log)] as const,
    ),
  );
  return new Map(starts);
}

/** Starts every receiver that a configuration asks for. Throws `ConfigError` when an address cannot be used. */
export async function startReceivers(
  config: Config,
  { sink, deadLetters, purged }: ReceiverStores,
  { log, metrics }: Telemetry,
): Promise<Receivers> {
  const [
    { startCollector },
    { bearerTokens },
    { ingestOptions },
    { collectorReadings, metricListener },
    { collectorChecks },
  ] = await Promise.all([
    import('../../collector/collector.ts'),
    import('../../collector/receivers/bearer-tokens.ts'),
    import('../../collector/configured-ingest.ts'),
    import('../../collector/collector-metrics.ts'),
    import('../../collector/collector-checks.ts'),
  ]);
  const collector = await startCollector({
    sink,
    deadLetters,
    purged,
    ...ingestOptions(config),
    receivers: await configureReceivers(config, RECEIVERS, log),
    authenticate: bearerTokens(config.auth.tokens),
    listener: metricListener(metrics),
    log,
  });
  metrics.observe(() => collectorReadings(collector));
  return {
    addresses: collector.addresses,
    checks: collectorChecks(collector),
    stop: () => collector.stop(),
  };
}
