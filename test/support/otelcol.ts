import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { until } from './until.ts';

// The OpenTelemetry Collector as others run it. Its sources and pinned modules are in test/peers/collector/otelcol; Go's own
// cache decides what has to be built again.

const run = promisify(execFile);
const SOURCES = fileURLToPath(new URL('../peers/collector/otelcol/', import.meta.url));
const BINARY = fileURLToPath(new URL('../../node_modules/.cache/peers/otelcol', import.meta.url));
const BUILD_TIMEOUT_MS = 30 * 60_000;
const START_TIMEOUT_MS = 60_000;
/** What Go prints when it reaches no module proxy at all, or is too old; anything else that goes wrong is a fault of ours. */
const CANNOT = /dial tcp|no such host|i\/o timeout|connection refused|requires go >= [\d.]+ \(running/;

/** The Collector's program, or why there is none on this machine. */
export type OtelcolProgram = { readonly binary: string } | { readonly missing: string };

/** The program that OTELCOL_BIN names, else one built with Go; a machine without both is told so, loudly. */
export async function otelcolProgram(): Promise<OtelcolProgram> {
  const given = process.env['OTELCOL_BIN'];
  if (given !== undefined && given !== '') {
    return { binary: given };
  }
  const reason = await buildFailure();
  if (reason === undefined) {
    return { binary: BINARY };
  }
  const missing = `SKIPPED, NOT PROVED: the OpenTelemetry Collector, because ${reason}; install Go 1.26, or set OTELCOL_BIN`;
  process.stderr.write(`${missing}\n`);
  return { missing };
}

/** Builds, and says why that cannot be done here; throws when it could and fails. */
async function buildFailure(): Promise<string | undefined> {
  mkdirSync(dirname(BINARY), { recursive: true });
  try {
    await run('go', ['build', '-trimpath', '-ldflags=-s -w', '-o', BINARY, '.'], {
      cwd: SOURCES,
      timeout: BUILD_TIMEOUT_MS,
      env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -buildvcs=false' },
    });
    return undefined;
  } catch (error) {
    const { code, stderr = '' } = error as { code?: unknown; stderr?: string };
    const told = CANNOT.exec(stderr);
    if (code !== 'ENOENT' && told === null) {
      throw error;
    }
    return told === null ? 'there is no go here' : `go says: ${told[0]}`;
  }
}

/** A running Collector. */
export interface Otelcol {
  /** All that it said so far: one line an event, with its fields as JSON at the end. */
  output(): string;
  /** SIGTERM: it flushes what it holds. */
  stop(): Promise<void>;
}

/** Starts the Collector with a configuration and waits until it is ready. */
export async function startOtelcol(binary: string, config: Record<string, unknown>): Promise<Otelcol> {
  const folder = mkdtempSync(join(tmpdir(), 'spanscore-otelcol-'));
  const file = join(folder, 'config.yaml');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  const child = spawn(binary, ['--config', file], { stdio: ['ignore', 'ignore', 'pipe'] });
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
