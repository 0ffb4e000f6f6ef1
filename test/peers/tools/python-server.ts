import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../support/processes/free-ports.ts';
import { until } from '../../support/until.ts';
import { PYTHON_CODE_CACHE } from '../python/python-venv.ts';

/** Enough to start a server on a busy machine. */
const START_WITHIN_MS = 600_000;

/** Command of a server on a port of loopback, with a folder of its own. */
export interface ServerCommand {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Path that answers when the server is ready. */
  readonly health: string;
}

export interface PythonServer {
  readonly url: string;
  readonly pid: number;
  stop(): void;
}

/** Starts a server from its package, and waits until it answers. */
export async function startPythonServer(
  python: string,
  describe: (port: number, folder: string) => ServerCommand,
): Promise<PythonServer> {
  const [port = 0] = await freePorts(1);
  const folder = mkdtempSync(join(tmpdir(), 'spanscore-server-'));
  const url = `http://127.0.0.1:${port}`;
  const { args, env, health } = describe(port, folder);
  const server = spawn(python, args, {
    detached: true,
    env: { ...process.env, PYTHONPYCACHEPREFIX: PYTHON_CODE_CACHE, ...env },
  });
  let output = '';
  server.stdout.on('data', (data: Buffer) => (output += data.toString()));
  server.stderr.on('data', (data: Buffer) => (output += data.toString()));
  const hasEnded = () => server.exitCode !== null || server.signalCode !== null;
  const stop = () => {
    if (server.pid !== undefined && !hasEnded()) {
      process.kill(-server.pid, 'SIGKILL');
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  const isReady = () =>
    fetch(`${url}${health}`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(
    async () => hasEnded() || (await isReady()),
    START_WITHIN_MS,
    () => output.slice(-2_000),
  );
  if (hasEnded()) {
    stop();
    throw new Error(`the server ended: ${output.slice(-2_000)}`);
  }
  return { url, pid: server.pid ?? 0, stop };
}
