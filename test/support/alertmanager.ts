import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts } from './free-ports.ts';
import { until } from './until.ts';

// Prometheus' Alertmanager as others run it, built from its published module.

const run = promisify(execFile);
const MODULE = 'github.com/prometheus/alertmanager@v0.34.2';
const BINARY = fileURLToPath(new URL('../../node_modules/.cache/peers/alertmanager-0.34.2', import.meta.url));
const BUILD_TIMEOUT_MS = 30 * 60_000;
/** What Go prints when it reaches no module proxy at all, or is too old; anything else that goes wrong is a fault of ours. */
const CANNOT = /dial tcp|no such host|i\/o timeout|connection refused|requires go >= [\d.]+ \(running/;

/** Alertmanager's program, or why there is none on this machine. */
export type AlertmanagerProgram = { readonly binary: string } | { readonly missing: string };

/** The program that ALERTMANAGER_BIN names, else one built with Go; a machine without both is told so, loudly. */
export async function alertmanagerProgram(): Promise<AlertmanagerProgram> {
  const given = process.env['ALERTMANAGER_BIN'];
  if (given !== undefined && given !== '') {
    return { binary: given };
  }
  const reason = existsSync(BINARY) ? undefined : await buildFailure();
  if (reason === undefined) {
    return { binary: BINARY };
  }
  const missing = `SKIPPED, NOT PROVED: a real Alertmanager, because ${reason}; install Go 1.26, or set ALERTMANAGER_BIN`;
  process.stderr.write(`${missing}\n`);
  return { missing };
}

/** Builds, and says why that cannot be done here; throws when it could and fails. */
async function buildFailure(): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'spanscore-alertmanager-build-'));
  try {
    const { stdout } = await run('go', ['mod', 'download', '-json', MODULE], { timeout: BUILD_TIMEOUT_MS });
    const sources = join(folder, 'sources');
    await run('cp', ['-r', (JSON.parse(stdout) as { Dir: string }).Dir, sources]);
    await run('chmod', ['-R', 'u+w', sources]);
    // The published module lacks the pages of its user interface, and does not compile without any.
    mkdirSync(join(sources, 'ui/app/dist'), { recursive: true });
    writeFileSync(join(sources, 'ui/app/dist/index.html'), '<title>none</title>');
    const built = join(folder, 'alertmanager');
    await run('go', ['build', '-trimpath', '-ldflags=-s -w', '-o', built, './cmd/alertmanager'], {
      cwd: sources,
      timeout: BUILD_TIMEOUT_MS,
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -buildvcs=false' },
    });
    mkdirSync(dirname(BINARY), { recursive: true });
    // Beside its place first: another run never finds half a program.
    cpSync(built, `${BINARY}.${process.pid}`);
    renameSync(`${BINARY}.${process.pid}`, BINARY);
    return undefined;
  } catch (error) {
    const { code, stderr = '', stdout = '' } = error as { code?: unknown; stderr?: string; stdout?: string };
    const told = CANNOT.exec(`${stderr}${stdout}`);
    if (code !== 'ENOENT' && told === null) {
      throw error;
    }
    return told === null ? 'there is no go here' : `go says: ${told[0]}`;
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

/** Starts one that sends what it is told on to a webhook at once, and waits until it is ready. */
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
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ route, receivers }));
  const [port] = await freePorts(1);
  const address = `127.0.0.1:${port}`;
  const child = spawn(
    binary,
    [
      `--config.file=${file}`,
      `--storage.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
      '--cluster.listen-address=',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  // A test run that is broken off leaves nothing behind.
  const endWithUs = () => void child.kill('SIGKILL');
  process.once('exit', endWithUs);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  await until(async () => hasEnded(child) || (await isReady(`http://${address}`)), START_TIMEOUT_MS);
  if (hasEnded(child)) {
    throw new Error(`Alertmanager ended with ${child.exitCode}: ${said.slice(-2_000)}`);
  }
  return {
    url: `http://${address}`,
    stop: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      if (!hasEnded(child)) {
        child.kill('SIGTERM');
        await ended;
      }
      process.off('exit', endWithUs);
      rmSync(folder, { recursive: true });
    },
  };
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

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
