import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConfigInput } from '../../configuration.ts';
import { AppError, InvalidInputError } from '../../domain/errors.ts';
import { formatCount } from '../../domain/plural.ts';
import { sleep } from '../../domain/waits.ts';
import type { Serve } from '../../serve.ts';
import { openServedStore } from '../../store/connection/connect-store.ts';
import { joinTraceKey } from '../../store/contracts/stores.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log.ts';
import { makeTraces, WORSE_VERSION, type MadeTrace } from './made-traces.ts';
import { DEMO_JUDGE_MODEL, isDecided, SCORERS } from './scripted-agent.ts';

/** Folder of the kept demonstration, in the folder of the user. */
export const KEPT_FOLDER = '.spanscore-demo';

/** File in it that says that the store is whole. */
const DONE_FILE = 'demo.json';

/** Name of the rule, and of the alert that opens an incident. */
const RULE = 'production';
const ALERT = 'AnswersGotWorse';

/** Longest times until all traces are scored, and until the incident is open. Both take some seconds on a machine with nothing else to do. */
const SCORED_WITHIN_MS = 600_000;
const OPEN_WITHIN_MS = 300_000;
const POLL_EVERY_MS = 500;

const TRACES_A_REQUEST = 100;

interface KeptDemo {
  readonly dataDir: string;
  readonly modelUrl: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly talk: (message: string) => void;
}

/**
 * Starts `serve` on the folder of the kept demonstration, which it fills first where it is not there yet. Throws an `InvalidInputError`
 * for a folder of something else.
 */
export async function startKeptDemo(demo: KeptDemo): Promise<Serve> {
  const { dataDir } = demo;
  const done = join(dataDir, DONE_FILE);
  const begun = join(dataDir, `${DONE_FILE}.begun`);
  if (existsSync(dataDir) && !existsSync(done)) {
    if (!existsSync(begun)) {
      throw new InvalidInputError(
        `${dataDir} is not a folder of the demonstration: move it, or run the command in another folder`,
      );
    }
    await rm(dataDir, { recursive: true, force: true });
  }
  return existsSync(done) ? start(demo, true) : fill(demo, { begun, done });
}

async function fill(demo: KeptDemo, { begun, done }: { readonly begun: string; readonly done: string }) {
  const sinceMs = Date.now();
  const traces = makeTraces(sinceMs);
  await mkdir(demo.dataDir, { recursive: true, mode: 0o700 });
  await writeFile(begun, '', { mode: 0o600 });
  const filling = await start(demo, false);
  try {
    demo.talk(`sending ${formatCount(traces.length, 'trace')} of three agents over OTLP`);
    await send(traces, filling.addresses.otlpHttp ?? '');
    await withStore(filling, async (store) => {
      await waitUntilScored(store, traces, demo);
      await store.backdateArrivals(sinceMs);
      await markVersions(store, sinceMs);
    });
  } finally {
    await filling.stop();
  }
  const serve = await start(demo, true);
  try {
    demo.talk('reading the two weeks as the monitors would have');
    await withStore(serve, (store) => waitForIncident(store, demo));
    await writeFile(
      done,
      `${JSON.stringify({ traces: traces.length, madeAt: new Date(sinceMs).toISOString() })}\n`,
      { mode: 0o600 },
    );
    return serve;
  } catch (error) {
    await serve.stop();
    throw error;
  }
}

async function start({ dataDir, modelUrl, log, signal }: KeptDemo, hasMonitors: boolean): Promise<Serve> {
  const { startServe } = await import('../../serve.ts');
  return startServe(buildConfig(dataDir, modelUrl, hasMonitors), { log, signal });
}

type MonitorGroup = Exclude<NonNullable<ConfigInput['monitors']>[number], string>['groups'][number];

function buildConfig(dataDir: string, modelUrl: string, hasMonitors: boolean): ConfigInput {
  const judge = `demo/${DEMO_JUDGE_MODEL}`;
  const quality: MonitorGroup = {
    name: 'quality',
    interval: '60m',
    rules: [
      {
        alert: ALERT,
        detector: 'drift',
        series: { scorer: 'faithfulness' },
        reference: { days: 5, minScores: 30, minDays: 3 },
        annotations: {
          summary: 'Answers of {{ $labels.agent }} do not stand on what its tools say',
          runbook_url: 'https://example.com/runbooks/answers-got-worse',
        },
      },
      { alert: 'ToolsFail', detector: 'floor', series: { scorer: 'behaviour-tool-errors' }, minimum: 0.5 },
    ],
  };
  return {
    store: { dataDir },
    receivers: { otlp: { http: { endpoint: '127.0.0.1:0' }, grpc: { endpoint: '127.0.0.1:0' } } },
    api: { endpoint: '127.0.0.1:0' },
    readiness: { decisionWait: '500ms', maxWait: '30s' },
    judges: {
      default: judge,
      providers: { demo: { baseURL: modelUrl, apiKey: 'demo', concurrency: 16 } },
      prices: { [judge]: { input: 0.25, output: 2 } },
    },
    rules: [{ name: RULE, scorers: SCORERS }],
    monitors: hasMonitors ? [{ groups: [quality] }] : [],
  };
}

async function send(traces: readonly MadeTrace[], otlpUrl: string): Promise<void> {
  for (let at = 0; at < traces.length; at += TRACES_A_REQUEST) {
    const resourceSpans = traces.slice(at, at + TRACES_A_REQUEST).map((trace) => trace.resourceSpans);
    const response = await fetch(`${otlpUrl}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ resourceSpans }),
    });
    if (!response.ok) {
      throw new AppError(
        `${otlpUrl} did not accept the made traces: HTTP ${response.status}, ${await response.text()}`,
        {
          code: 'delivery_failed',
          stage: 'export',
          retryable: true,
        },
      );
    }
  }
}

async function withStore(serve: Serve, use: (store: Store) => Promise<void>): Promise<void> {
  const store = await openServedStore(serve.addresses.clickhouse);
  try {
    await use(store);
  } finally {
    await store.close();
  }
}

/** Announces the versions at the starts of their first runs: a version that was found in a score has the time of the score. */
async function markVersions(store: Store, nowMs: number): Promise<void> {
  const { agent, service, version, ageMs } = WORSE_VERSION;
  const atMs = nowMs - ageMs;
  await store.markers.record({
    tenant: '',
    service,
    agent,
    agentVersion: version,
    serviceVersion: '',
    origin: 'api',
    atMs,
  });
}

async function waitUntilScored(
  store: Store,
  traces: readonly MadeTrace[],
  { signal, talk }: KeptDemo,
): Promise<void> {
  const keys = traces.map(({ traceId }) => ({ tenant: '', traceId }));
  let scored = 0;
  await waitFor(SCORED_WITHIN_MS, 'not every trace was scored', signal, async () => {
    const decisions = await store.decisions.ofTraces(keys);
    const done = keys.filter((key) => isDecided(decisions.get(joinTraceKey(key)) ?? []));
    if (done.length > scored) {
      scored = done.length;
      talk(`${done.length} of ${keys.length} traces are scored`);
    }
    return done.length === keys.length;
  });
}

async function waitForIncident(store: Store, { signal }: KeptDemo): Promise<void> {
  await waitFor(OPEN_WITHIN_MS, `the monitor ${ALERT} opened no incident`, signal, async () => {
    const open = await store.alerts.open();
    return open.some(({ alert }) => alert === ALERT);
  });
}

async function waitFor(
  withinMs: number,
  fault: string,
  signal: AbortSignal,
  isDone: () => Promise<boolean>,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await isDone())) {
    signal.throwIfAborted();
    if (performance.now() > deadline) {
      throw new AppError(`${fault} within ${withinMs / 1000} s: run with --verbose`, {
        code: 'scorer_failed',
        stage: 'judge',
        retryable: true,
      });
    }
    await sleep(POLL_EVERY_MS, signal);
  }
}
