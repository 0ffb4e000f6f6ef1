import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { goBuild, type Program, buildProgram } from '../processes/go-program.ts';
import { until } from '../until.ts';

// The real OpenTelemetry Collector. Its sources and pinned modules are in test/peers/collector/otelcol. Go's cache decides
// which parts are built again.

const SOURCES = fileURLToPath(new URL('../../peers/collector/otelcol/', import.meta.url));
const BINARY = fileURLToPath(new URL('../../../node_modules/.cache/peers/otelcol', import.meta.url));
const START_TIMEOUT_MS = 60_000;

/** Returns the path of the Collector's program, or the reason why this machine has none. */
export function otelcolProgram(): Promise<Program> {
  return buildProgram({
    what: 'the OpenTelemetry Collector',
    variable: 'OTELCOL_BIN',
    binary: BINARY,
    build: async () => {
      mkdirSync(dirname(BINARY), { recursive: true });
      await goBuild(SOURCES, '.', BINARY);
    },
  });
}

/** A running Collector. */
export interface Otelcol {
  /** Returns its log so far: one line for each event, with the fields as JSON at the end. */
  output(): string;
  /** Sends SIGTERM: the Collector flushes its queues first. */
  stop(): Promise<void>;
}

/**
 * Starts the Collector and waits until it is ready.
 * @param config a configuration, or the path of its file
 * @param variables environment variables that the file refers to
 */
export async function startOtelcol(
  binary: string,
  config: Record<string, unknown> | string,
  variables: Readonly<Record<string, string>> = {},
): Promise<Otelcol> {
  const folder = mkdtempSync(join(tmpdir(), 'spanscore-otelcol-'));
  const ownFile = join(folder, 'config.yaml');
  if (typeof config !== 'string') {
    // Every JSON document is also a YAML document.
    writeFileSync(ownFile, JSON.stringify(config), { mode: 0o600 });
  }
  const child = spawn(binary, ['--config', typeof config === 'string' ? config : ownFile], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...variables },
  });
  // Ends the process when the test run is aborted.
  const killChild = () => void child.kill('SIGKILL');
  process.once('exit', killChild);
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  await until(() => log.includes('Everything is ready') || hasEnded(child), START_TIMEOUT_MS);
  if (hasEnded(child)) {
    throw new Error(`the Collector ended with ${child.exitCode}: ${log.slice(-2_000)}`);
  }
  return {
    output: () => log,
    stop: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      if (!hasEnded(child)) {
        child.kill('SIGTERM');
        await ended;
      }
      process.off('exit', killChild);
      rmSync(folder, { recursive: true });
    },
  };
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
