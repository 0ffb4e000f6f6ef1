import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { freePorts } from '../processes/free-ports.ts';
import { builtProgram, go, goBuild, type Program, buildProgram } from '../processes/go-program.ts';
import { startProgram } from '../processes/running-program.ts';

// Prometheus' own Alertmanager, built from its published module.

const run = promisify(execFile);
const MODULE = 'github.com/prometheus/alertmanager@v0.34.2';
const BINARY = builtProgram('alertmanager-0.34.2');

/** Returns the path of Alertmanager's program, or the reason why this machine has none. */
export function alertmanagerProgram(): Promise<Program> {
  return buildProgram({ what: 'a real Alertmanager', variable: 'ALERTMANAGER_BIN', binary: BINARY, build });
}

async function build(): Promise<void> {
  if (existsSync(BINARY)) {
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'spanscore-alertmanager-build-'));
  try {
    const downloaded = JSON.parse(await go('mod', 'download', '-json', MODULE)) as { Dir: string };
    const sources = join(folder, 'sources');
    await run('cp', ['-r', downloaded.Dir, sources]);
    await run('chmod', ['-R', 'u+w', sources]);
    // The published module lacks the pages of its user interface, and does not compile without this folder.
    mkdirSync(join(sources, 'ui/app/dist'), { recursive: true });
    writeFileSync(join(sources, 'ui/app/dist/index.html'), '<title>none</title>');
    const built = join(folder, 'alertmanager');
    await goBuild(sources, './cmd/alertmanager', built);
    mkdirSync(dirname(BINARY), { recursive: true });
    // Copied under a temporary name first, so that another test run never finds an incomplete program.
    cpSync(built, `${BINARY}.${process.pid}`);
    renameSync(`${BINARY}.${process.pid}`, BINARY);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

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
