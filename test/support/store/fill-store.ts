import {
  connectStore,
  type StoreConnection,
  openConnectedStore,
} from '../../../src/store/connection/connect-store.ts';
import { parseConfig } from '../../../src/configuration.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { post } from '../collector/otlp-post.ts';
import { startTestCollector } from '../collector/test-collector.ts';

/**
 * Sends NDJSON of export requests into the store of a folder, through a collector. Returns the connection. Until its
 * release, commands use its engine and need not start their own.
 */
export async function fillStore(
  folder: string,
  recordings: { readonly traces: string; readonly logs?: string },
): Promise<StoreConnection> {
  const config = parseConfig({ store: { dataDir: '.spanscore' } }, { cwd: folder });
  const connection = await connectStore(config, silentLog);
  const store = await openConnectedStore(connection, silentLog);
  const collector = await startTestCollector({
    sink: store.sink,
    deadLetters: store.deadLetters,
    http: { host: '127.0.0.1', port: 0 },
    log: silentLog,
  });
  const { traces, logs = '' } = recordings;
  for (const [signal, text] of Object.entries({ traces, logs })) {
    for (const line of text.split('\n').filter(Boolean)) {
      const { status } = await post(collector.address, { path: `/v1/${signal}`, body: JSON.parse(line) });
      if (status !== 200) {
        throw new Error(`the collector answered ${status}`);
      }
    }
  }
  await collector.stop();
  await store.close();
  return connection;
}
