import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../processes/free-ports.ts';
import { startProgram } from '../processes/running-program.ts';

// Prometheus' own Alertmanager.

/** A running Alertmanager. */
export interface Alertmanager {
  readonly url: string;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 30_000;

/** Starts an Alertmanager that sends alerts to a web hook at once, and waits until it is ready. */
export async function startAlertmanager(binary: string, webhookUrl: string): Promise<Alertmanager> {
  const folder = mkdtempSync(join(tmpdir(), 'spanscore-alertmanager-'));
  const file = join(folder, 'alertmanager.yml');
  const route = {
    receiver: 'hook',
    group_by: ['alertname', 'scorer', 'agent'],
    group_wait: '100ms',
    group_interval: '1s',
    repeat_interval: '4h',
  };
  const receivers = [{ name: 'hook', webhook_configs: [{ url: webhookUrl, send_resolved: true }] }];
  // Every JSON document is also a YAML document.
  writeFileSync(file, JSON.stringify({ route, receivers }));
  const [port] = await freePorts(1);
  const address = `127.0.0.1:${port}`;
  const program = await startProgram({
    name: 'Alertmanager',
    binary,
    args: [
      `--config.file=${file}`,
      `--storage.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
      '--cluster.listen-address=',
    ],
    folder,
    isReady: () => isReady(`http://${address}`),
    timeoutMs: START_TIMEOUT_MS,
  });
  return { url: `http://${address}`, stop: () => program.stop() };
}

async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/-/ready`);
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
