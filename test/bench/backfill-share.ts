/**
 * Latency of live judging beside a backfill with the default share of the places of judges: the time from the end of the decision wait to
 * the question of the judge, alone and beside it, in turns.
 * `node test/bench/backfill-share.ts [--runs 5] [--singles 60] [--history 9000] [--judge-ms 500] [--places 32]`
 */
import assert from 'node:assert/strict';
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { jsonLines, runCli } from '../support/processes/cli.ts';
import { ServeFolder, type ServeAddresses } from '../support/processes/serve-process.ts';
import { queryRows } from '../support/store/clickhouse-query.ts';
import { sendAgentTraces } from './agent-load.ts';
import { atMost, head, row, sumUp, verdictOn } from './bench-table.ts';
import { median } from './measured-time.ts';
import { measureSingles, startTimedJudge, type Latency } from './single-traces.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '5' },
    singles: { type: 'string', default: '60' },
    history: { type: 'string', default: '9000' },
    'judge-ms': { type: 'string', default: '500' },
    places: { type: 'string', default: '32' },
  },
});
const runs = Number(values.runs);

const DECISION_WAIT_MS = 2_000;
const MOST_RATIO = 1.5;

const judge = await startTimedJudge(Number(values['judge-ms']));
const SETTINGS = {
  judges: {
    default: 'local/judge',
    providers: { local: { baseURL: judge.baseUrl, concurrency: Number(values.places) } },
  },
  readiness: { decisionWait: `${DECISION_WAIT_MS}ms`, maxWait: '5m' },
  log: { level: 'error' },
};
const folder = new ServeFolder({ ...SETTINGS, rules: [] });

async function cli(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await runCli([...args, '--json', '--config', folder.configFile], {
    cwd: folder.path,
  });
  assert.equal(code, 0, stderr);
  return jsonLines(stdout).at(-1) as Record<string, unknown>;
}

/** Stores traces before the live rule is in force: only a backfill scores them. */
async function makeHistory(): Promise<ServeAddresses> {
  const { otlpHttp, clickhouse } = await folder.start();
  const traces = Number(values.history);
  await sendAgentTraces(otlpHttp, traces);
  const [stored] = await queryRows<{ n: string }>(
    clickhouse,
    'SELECT toString(uniqExact(TraceId)) AS n FROM trace_activity',
  );
  assert.equal(stored?.n, String(traces));
  await sleep(2 * DECISION_WAIT_MS);
  await folder.stop();
  folder.configure({ ...SETTINGS, rules: [{ name: 'live', scorers: ['grounding'] }] });
  return folder.start();
}

async function countBackfilled({ clickhouse }: ServeAddresses): Promise<number> {
  const [scored] = await queryRows<{ n: string }>(
    clickhouse,
    `SELECT toString(count()) AS n FROM scores WHERE Source = 'backfill'`,
  );
  return Number(scored?.n);
}

async function waitForStatus(id: string, status: string): Promise<void> {
  while ((await cli('backfill', 'show', id))['status'] !== status) {
    await sleep(500);
  }
}

/** Measures beside the running backfill. Returns also its scores in that time. */
async function measureBeside(serve: ServeAddresses, id: string): Promise<Latency & { scored: number }> {
  await cli('backfill', 'resume', id);
  await waitForStatus(id, 'running');
  const before = await countBackfilled(serve);
  while ((await countBackfilled(serve)) === before) {
    await sleep(500);
  }
  const found = await measure(serve);
  const scored = (await countBackfilled(serve)) - before;
  const { status } = await cli('backfill', 'pause', id);
  assert.equal(status, 'paused', 'the backfill ended before the measure: give a longer history');
  return { ...found, scored };
}

function measure(serve: ServeAddresses): Promise<Latency> {
  const count = Number(values.singles);
  return measureSingles(serve, judge, {
    count,
    decisionWaitMs: DECISION_WAIT_MS,
    pauseMs: (index) => 100 + 37 * (index % 5),
  });
}

console.log(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)} before`);
try {
  const serve = await makeHistory();
  const to = new Date().toISOString();
  const { id } = await cli('backfill', '--from', '1d', '--to', to, '--scorer', 'grounding', '--detach');
  await cli('backfill', 'pause', String(id));
  // The place of the measures in the life of the process makes no difference then.
  await measure(serve);
  const alone: Latency[] = [];
  const beside: Latency[] = [];
  head(
    'Live judging, from the decision wait to the judge',
    'run',
    'alone, p99 ms',
    'beside, p99 ms',
    'backfilled',
  );
  for (let run = 1; run <= runs; run += 1) {
    const first = await measure(serve);
    const second = await measureBeside(serve, String(id));
    alone.push(first);
    beside.push(second);
    row(String(run), first.p99, second.p99, String(second.scored));
  }
  head('Medians', 'what', 'alone, ms', 'beside, ms', 'ratio', 'goal');
  for (const figure of ['median', 'p99'] as const) {
    const [a, b] = [alone, beside].map((list) => median(list.map((each) => each[figure]))) as [
      number,
      number,
    ];
    const goals = figure === 'p99' ? [atMost(b / a, MOST_RATIO, 'times')] : [];
    row(figure, a, b, (b / a).toFixed(2), verdictOn(figure, goals));
  }
  sumUp();
} finally {
  await folder.dispose();
  await judge.close();
}
