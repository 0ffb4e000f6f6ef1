/**
 * Speed and memory of a backfill with code scorers: traces of 8 spans in the table of the Collector's exporter on the embedded engine,
 * and a `serve` that runs the job. With `--kills`, all processes are killed on the way, and the final counts must be exact.
 * `node test/bench/backfill.ts [--traces 50000] [--kills 0] [--profile <folder>]`. `--profile` writes processor profiles of `serve`.
 */
import assert from 'node:assert/strict';
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { jsonLines, runCli } from '../support/processes/cli.ts';
import { ServeFolder, type ServeAddresses } from '../support/processes/serve-process.ts';
import { queryRows } from '../support/store/clickhouse-query.ts';
import { atLeast, atMost, head, row, shown, sumUp, verdictOn } from './bench-table.ts';
import { DATABASE, makeExportedTraces, SPANS_PER_TRACE } from './exported-traces.ts';
import { listChildren, readOwnResidentBytes, readPartSeconds } from './process-cpu.ts';

const { values } = parseArgs({
  options: {
    traces: { type: 'string', default: '50000' },
    kills: { type: 'string', default: '0' },
    profile: { type: 'string' },
  },
});
const traces = Number(values.traces);
const kills = Number(values.kills);

const SCORERS = ['content-similarity', 'keyword-coverage', 'tone'];
const DAY_MS = 86_400_000;
const RANGE = { fromMs: Date.now() - 4 * DAY_MS, toMs: Date.now() - 2 * DAY_MS };
const LOOK_EVERY_MS = 500;
const MIB = 1024 * 1024;

/** Least traces a second without kills and with them, and most memory of the runner. */
const GOALS = { alone: 2_000, withKills: 1_000, runnerMib: 400 };

/** Shares of the work at which the memory is shown. */
const SHARES = [0.1, 0.5, 1];

const folder = new ServeFolder({
  store: { spans: { table: `${DATABASE}.otel_traces` } },
  rules: [],
  log: { level: 'error' },
});

interface Progress {
  readonly id: string;
  readonly status: string;
  readonly matched: number;
  readonly scored: number;
  readonly skipped: object;
  readonly failed: object;
}

async function readProgress({ clickhouse }: ServeAddresses): Promise<Progress> {
  const [job] = await queryRows<{ id: string; status: string; report: string }>(
    clickhouse,
    `SELECT Id AS id, Status AS status, Report AS report FROM jobs FINAL WHERE Kind = 'backfill'`,
  );
  assert(job !== undefined, 'there is no backfill');
  const {
    matched = 0,
    scored = 0,
    skipped = {},
    failed = {},
  } = JSON.parse(job.report || '{}') as Partial<Progress>;
  return { id: job.id, status: job.status, matched, scored, skipped, failed };
}

async function startBackfill(): Promise<void> {
  const times = Object.entries({ from: RANGE.fromMs, to: RANGE.toMs });
  const range = times.flatMap(([name, ms]) => [`--${name}`, new Date(ms).toISOString()]);
  const args = ['backfill', ...range, ...SCORERS.flatMap((name) => ['--scorer', name])];
  const { code, stdout, stderr } = await runCli(
    [...args, '--detach', '--json', '--config', folder.configFile],
    {
      cwd: folder.path,
    },
  );
  assert.equal(code, 0, stderr);
  assert.equal(jsonLines(stdout).length, 1);
}

/** Largest resident memory of the runner and of its engine so far, bytes. */
class MemoryPeaks {
  runner = 0;
  engine = 0;
  readonly #shown = new Set<number>();

  look(pid: number, share: number): void {
    this.runner = Math.max(this.runner, readOwnResidentBytes(pid));
    this.engine = Math.max(this.engine, ...listChildren(pid).map(readOwnResidentBytes));
    for (const each of SHARES.filter((one) => one <= share && !this.#shown.has(one))) {
      this.#shown.add(each);
      row(`${100 * each} %`, (this.runner / MIB).toFixed(0), (this.engine / MIB).toFixed(0));
    }
  }
}

/** Kills all processes when a part of the work is done, and starts them again. */
async function killOnTheWay(serve: ServeAddresses, share: number, killed: number): Promise<ServeAddresses> {
  if (killed >= kills || share < (killed + 1) / (kills + 1)) {
    return serve;
  }
  await folder.killGroup();
  return folder.start(environment());
}

function environment(): Record<string, string> {
  return values.profile === undefined
    ? {}
    : { NODE_OPTIONS: `--cpu-prof --cpu-prof-interval=1000 --cpu-prof-dir=${values.profile}` };
}

/** Counts the stored scores, each once, and the rows of decisions. */
async function checkCounts(serve: ServeAddresses): Promise<void> {
  const [found] = await queryRows<Record<string, string>>(
    serve.clickhouse,
    `SELECT toString(count()) AS scores, toString(uniqExact(TraceId, Scorer)) AS pairs,
      toString(countIf(Source != 'backfill')) AS others FROM scores FINAL`,
  );
  const [decided] = await queryRows<Record<string, string>>(
    serve.clickhouse,
    `SELECT toString(count()) AS decisions FROM decisions FINAL WHERE Status = 'scored'`,
  );
  const pairs = String(traces * SCORERS.length);
  assert.deepEqual({ ...found, ...decided }, { scores: pairs, pairs, others: '0', decisions: pairs });
  const { matched, scored, skipped, failed } = await readProgress(serve);
  assert.deepEqual(
    { matched, scored, skipped, failed },
    { matched: traces, scored: traces * SCORERS.length, skipped: {}, failed: {} },
  );
}

async function measure(begun: ServeAddresses): Promise<void> {
  let serve = begun;
  let killed = 0;
  let firstScoredMs = 0;
  const peaks = new MemoryPeaks();
  const before = readPartSeconds(serve.pid);
  await startBackfill();
  const startedMs = performance.now();
  head('Memory', 'of the work', 'runner, peak MiB', 'engine, peak MiB');
  for (;;) {
    await sleep(LOOK_EVERY_MS);
    const { status, scored } = await readProgress(serve);
    const share = status === 'done' ? 1 : Math.min(0.999, scored / (traces * SCORERS.length));
    firstScoredMs ||= scored > 0 ? performance.now() : 0;
    peaks.look(serve.pid, share);
    assert(status === 'queued' || status === 'running' || status === 'done', `the backfill is ${status}`);
    if (status === 'done') {
      break;
    }
    const next = await killOnTheWay(serve, share, killed);
    killed += next === serve ? 0 : 1;
    serve = next;
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  await checkCounts(serve);
  const perSecond = traces / seconds;
  head('Speed', 'what', 'figure', 'goal');
  row(
    `traces of ${SPANS_PER_TRACE} spans a second, from the order to the end`,
    perSecond,
    verdictOn('speed', [atLeast(perSecond, kills > 0 ? GOALS.withKills : GOALS.alone, 'traces/s')]),
  );
  const runnerMib = peaks.runner / MIB;
  row(
    'most memory of the runner, MiB',
    runnerMib,
    verdictOn('memory', [atMost(runnerMib, GOALS.runnerMib, 'MiB')]),
  );
  row('seconds to the first stored progress', (firstScoredMs - startedMs) / 1_000, '–');
  row('seconds in all', seconds, '–');
  row('kills of all processes; counts exact, none twice', killed, '–');
  if (kills === 0) {
    head('Processor', 'part', 'ms a trace', 'cores');
    for (const [part, spent] of readPartSeconds(serve.pid)) {
      const used = spent - (before.get(part) ?? 0);
      row(part, shown((used * 1_000) / traces), shown(used / seconds));
    }
  }
}

console.log(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)} before; ${traces} traces`);
try {
  const serve = await folder.start(environment());
  await makeExportedTraces(serve.clickhouse, { traces, ...RANGE });
  await measure(serve);
  await folder.stop();
  sumUp();
} finally {
  await folder.dispose();
}
