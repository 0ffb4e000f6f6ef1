import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { anAgentTrace } from '../builders/agent-trace.ts';
import { until } from '../until.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const CLI = join(root, 'src/cli/main.ts');
/** Enough for a busy machine, and less than the timeout of test hooks. */
const START_WITHIN_MS = 100_000;

/** Content of `serve.json`. */
export interface ServeAddresses {
  pid: number;
  otlpHttp: string;
  otlpGrpc: string;
  api: string;
  clickhouse: { url: string; username: string; password: string; database: string };
}

/** Folder with a configuration, in which `serve` can be started, killed and started again. */
export class ServeFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'spanscore-serve-'));
  readonly configFile = join(this.path, 'spanscore.config.yaml');
  readonly #args: readonly string[];
  readonly #cli: string;
  #child: ChildProcess | undefined;
  #output = '';

  /** `args` are added to the arguments of every start. `cli` is the program, for example that of another checkout. */
  constructor(config: Record<string, unknown> = {}, args: readonly string[] = [], cli: string = CLI) {
    this.#args = args;
    this.#cli = cli;
    this.configure(config);
  }

  /** Writes the configuration file that the next start reads. */
  configure(config: Record<string, unknown>): void {
    const base = {
      receivers: { otlp: { http: { endpoint: '127.0.0.1:0' }, grpc: { endpoint: '127.0.0.1:0' } } },
      api: { endpoint: '127.0.0.1:0' },
      readiness: { decisionWait: '500ms', maxWait: '30s' },
    };
    // Tests count the calls of judges: questions about anchors are asked where a test wants them.
    const { judges, ...rest } = config;
    const quiet = judges === undefined ? {} : { judges: { anchors: { size: 0 }, ...(judges as object) } };
    writeFileSync(this.configFile, stringify({ ...base, ...rest, ...quiet }));
  }

  /** Data directory, unless the configuration names another. */
  get dataDir(): string {
    return join(this.path, '.spanscore');
  }

  get serveFile(): string {
    return join(this.dataDir, 'serve.json');
  }

  /** The whole output of `serve` so far. */
  get output(): string {
    return this.#output;
  }

  /**
   * Starts `serve` as the leader of its own process group and waits until it is ready. Kills it when it does not become
   * ready: it would occupy the addresses of the next start.
   */
  async start(environment: Record<string, string> = {}): Promise<ServeAddresses> {
    rmSync(this.serveFile, { force: true });
    const child = spawn(process.execPath, [this.#cli, 'serve', '--config', this.configFile, ...this.#args], {
      cwd: this.path,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...environment },
    });
    this.#child = child;
    killAtExit(child);
    child.stdout.on('data', (data: Buffer) => (this.#output += data.toString()));
    child.stderr.on('data', (data: Buffer) => (this.#output += data.toString()));
    try {
      await until(
        () => existsSync(this.serveFile) || hasEnded(child),
        START_WITHIN_MS,
        () => this.#output,
      );
    } catch (error) {
      await this.killGroup();
      throw error;
    }
    if (hasEnded(child)) {
      throw new Error(`serve ended with ${child.exitCode ?? child.signalCode}: ${this.#output}`);
    }
    return this.addresses();
  }

  addresses(): ServeAddresses {
    return JSON.parse(readFileSync(this.serveFile, 'utf8')) as ServeAddresses;
  }

  /** Pid of `serve`; undefined while it does not run. */
  get pid(): number | undefined {
    return this.#child === undefined || hasEnded(this.#child) ? undefined : this.#child.pid;
  }

  /** kill -9 of `serve` and of all processes that it started. */
  async killGroup(): Promise<void> {
    await this.#kill((pid) => -pid);
  }

  /** kill -9 of `serve` alone. Its engine detects this by itself. */
  async killAlone(): Promise<void> {
    await this.#kill((pid) => pid);
  }

  async #kill(whom: (pid: number) => number): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) {
      throw new Error('serve does not run');
    }
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (!hasEnded(child)) {
      process.kill(whom(child.pid), 'SIGKILL');
      await ended;
    }
    this.#child = undefined;
  }

  /** Sends SIGTERM. Returns the exit code. */
  async stop(): Promise<number | null> {
    const child = this.#child;
    if (child === undefined) {
      return null;
    }
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    if (!hasEnded(child)) {
      child.kill('SIGTERM');
      await ended;
    }
    // Set only now: when the process did not end, `dispose` kills it.
    this.#child = undefined;
    return child.exitCode;
  }

  async dispose(): Promise<void> {
    if (this.#child !== undefined) {
      await this.killGroup();
    }
    rmSync(this.path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

/** Ends the process when the test run is aborted. */
function killAtExit(child: ChildProcess): void {
  const end = () => {
    if (child.pid !== undefined && !hasEnded(child)) {
      process.kill(-child.pid, 'SIGKILL');
    }
  };
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Limit of the time for retries of a request that a busy store refused, milliseconds: as in the exporters of OpenTelemetry. */
const RETRY_WITHIN_MS = 60_000;

/** Posts once, and again each second while the answer is 503. */
export async function postUntilTaken(post: () => Promise<Response>): Promise<Response> {
  const startedMs = performance.now();
  let response = await post();
  while (response.status === 503 && performance.now() - startedMs < RETRY_WITHIN_MS) {
    await response.arrayBuffer();
    await sleep(1_000);
    response = await post();
  }
  return response;
}

/**
 * Sends one OTLP/JSON trace request, and again after a 503, as exporters do. Returns the status code, or 'unreachable', also when
 * `signal` aborts the request.
 */
export async function sendTraces(
  otlpHttp: string,
  request: unknown,
  signal?: AbortSignal,
): Promise<number | 'unreachable'> {
  const post = () =>
    fetch(`${otlpHttp}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
      ...(signal === undefined ? {} : { signal }),
    });
  try {
    const response = await postUntilTaken(post);
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 'unreachable';
  }
}

/**
 * Sends runs whose answers name a number of degrees, from 0 on, and returns their trace ids. All go at the same time: one after the other,
 * each is an insert of its own.
 */
export async function sendAnswers(
  { otlpHttp }: Pick<ServeAddresses, 'otlpHttp'>,
  count: number,
  place = 'Paris',
): Promise<string[]> {
  const traces = Array.from({ length: count }, (_, n) =>
    anAgentTrace().answering(`It is ${n} degrees in ${place}.`),
  );
  const statuses = await Promise.all(traces.map((trace) => sendTraces(otlpHttp, trace.request())));
  if (statuses.some((status) => status !== 200)) {
    throw new Error(`runs were not taken: ${[...new Set(statuses)].join(', ')}`);
  }
  return traces.map(({ traceId }) => traceId);
}
