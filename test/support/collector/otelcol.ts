import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { goBuild, type Program, buildProgram } from '../processes/go-program.ts';
import { until } from '../until.ts';

// The OpenTelemetry Collector as others run it. Its sources and pinned modules are in test/peers/collector/otelcol; Go's own
// cache decides what has to be built again.

const SOURCES = fileURLToPath(new URL('../../peers/collector/otelcol/', import.meta.url));
const BINARY = fileURLToPath(new URL('../../../node_modules/.cache/peers/otelcol', import.meta.url));
const START_TIMEOUT_MS = 60_000;

/** The Collector's program, or why there is none on this machine. */
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
  /** All that it said so far: one line an event, with its fields as JSON at the end. */
  output(): string;
  /** SIGTERM: it flushes what it holds. */
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
    // JSON is YAML.
    writeFileSync(ownFile, JSON.stringify(config), { mode: 0o600 });
  }
  const child = spawn(binary, ['--config', typeof config === 'string' ? config : ownFile], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...variables },
  });
  // A test run that is broken off leaves nothing behind.
  const endWithUs = () => void child.kill('SIGKILL');
  process.once('exit', endWithUs);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  await until(() => said.includes('Everything is ready') || hasEnded(child), START_TIMEOUT_MS);
  if (hasEnded(child)) {
    throw new Error(`the Collector ended with ${child.exitCode}: ${said.slice(-2_000)}`);
  }
  return {
    output: () => said,
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

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
