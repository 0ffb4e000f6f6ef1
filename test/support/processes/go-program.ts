import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { tellNotProved } from '../not-proved.ts';

// Programs of other projects that tests run, built with Go.

const run = promisify(execFile);
const BUILD_TIMEOUT_MS = 30 * 60_000;
/** Messages of Go without a module proxy, or of an old Go. Any other message means that our build is wrong. */
const NO_GO_TOOLS = /dial tcp|no such host|i\/o timeout|connection refused|requires go >= [\d.]+ \(running/;

/** Path of a program, or the reason why this machine has none. */
export type Program = { readonly binary: string } | { readonly missing: string };

/**
 * Programs of which the pinned sources are in a folder of test/peers, by the names of their files. Packages that several of them have are
 * pinned to one version: Go compiles them once.
 */
export const PROGRAMS = {
  otelcol: {
    what: 'the OpenTelemetry Collector',
    variable: 'OTELCOL_BIN',
    sources: 'collector/otelcol',
    target: '.',
  },
  // The `tool` line of its go.mod names the program: OpenTelemetry's own generator of spans, with the real Go SDK.
  telemetrygen: {
    what: 'telemetrygen',
    variable: 'TELEMETRYGEN_BIN',
    sources: 'collector/telemetrygen',
    target: 'tool',
  },
  'clickhouse-go': {
    what: 'clickhouse-go',
    variable: 'CLICKHOUSE_GO_READER',
    sources: 'sql/clickhouse-go',
    target: '.',
  },
  'deploy-checker': {
    what: 'the checker of the files of deploy',
    variable: 'DEPLOY_CHECKER_BIN',
    sources: 'deploy/checker',
    target: '.',
  },
} as const;

/**
 * Returns the path of a program: the one that its variable names, else one that Go builds. Go's cache decides what is built again. Prints a
 * warning when this machine has neither. Throws when the build itself fails.
 * @param use `measured` for a fast program; tests start one without inlined functions, which is compiled in two thirds of the time
 */
export async function goProgram(
  name: keyof typeof PROGRAMS,
  use: 'tested' | 'measured' = 'tested',
): Promise<Program> {
  const { sources, target, what, variable } = PROGRAMS[name];
  const given = process.env[variable];
  if (given !== undefined && given !== '') {
    return { binary: given };
  }
  const cache = new URL('../../../node_modules/.cache/peers/', import.meta.url);
  const binary = fileURLToPath(new URL(use === 'tested' ? name : `${name}-${use}`, cache));
  const folder = fileURLToPath(new URL(`../../peers/${sources}/`, import.meta.url));
  try {
    await build(folder, target, binary, use === 'tested' ? ['-gcflags=all=-l -dwarf=false'] : []);
    return { binary };
  } catch (error) {
    const reason = readMissingReason(error);
    return { missing: tellNotProved(what, `${reason}; install Go 1.26, or set ${variable}`) };
  }
}

/** Returns the reason why the program cannot be built here. Throws the error when our build is wrong. */
function readMissingReason(error: unknown): string {
  const {
    code,
    path,
    stderr = '',
    stdout = '',
  } = error as { code?: unknown; path?: unknown; stderr?: string; stdout?: string };
  if (code === 'ENOENT' && path === 'go') {
    return 'there is no go here';
  }
  const message = NO_GO_TOOLS.exec(`${stderr}${stdout}`);
  if (message === null) {
    throw error;
  }
  return `go says: ${message[0]}`;
}

/** Builds one program from a folder of sources. */
async function build(
  sources: string,
  target: string,
  binary: string,
  flags: readonly string[],
): Promise<void> {
  mkdirSync(dirname(binary), { recursive: true });
  await run('go', ['build', '-trimpath', '-ldflags=-s -w', ...flags, '-o', binary, target], {
    cwd: sources,
    timeout: BUILD_TIMEOUT_MS,
    env: { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=readonly -buildvcs=false' },
  });
}
