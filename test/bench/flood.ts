/**
 * A judge that is slower than the traffic: judged traces a second, processor time and memory over a flood; then the time from the
 * end of the decision wait to the question of the judge, for single traces beside a backlog and without one. Every trace has one
 * question. `node test/bench/flood.ts [--traces 10000] [--judge-ms 200] [--places 32] [--singles 100] [--backlog 0] [--code 0] [--decisions]`.
 * `--decisions` asks a decision judge.
 * `--code 3` measures instead, in three rounds, the time of code scorers of a steady stream alone and beside a backlog of judges.
 */
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ServeFolder, type ServeAddresses } from '../support/processes/serve-process.ts';
import { queryRows } from '../support/store/clickhouse-query.ts';
import { sendAgentTraces } from './agent-load.ts';
import { median } from './measured-time.ts';
import { readPartSeconds, readResidentBytes } from './process-cpu.ts';
import { measureSingles, startTimedJudge } from './single-traces.ts';

const { values } = parseArgs({
  options: {
    traces: { type: 'string', default: '10000' },
    'judge-ms': { type: 'string', default: '200' },
    places: { type: 'string', default: '32' },
    code: { type: 'string', default: '0' },
    singles: { type: 'string', default: '100' },
    backlog: { type: 'string', default: '0' },
    decisions: { type: 'boolean', default: false },
  },
});
const traces = Number(values.traces);
const judgeMs = Number(values['judge-ms']);
const places = Number(values.places);
const singles = Number(values.singles);
const backlog = Number(values.backlog);
const codeRounds = Number(values.code);

const DECISION_WAIT_MS = 2_000;
const SENDERS = 4;

/** Steady stream of `--code`, and the backlog of judges beside it: the judges need longer for it than the stream takes. */
const STREAM = { tracesPerSecond: 15, seconds: 20, backlog: 5_000 };
const MIB = 1024 * 1024;

const judge = await startTimedJudge(judgeMs);

const code = codeRounds > 0 ? ['completeness', 'content-similarity'] : [];
const folder = new ServeFolder({
  judges: {
    default: 'local/judge',
    options: { 'local/judge': { decision: values.decisions } },
    providers: { local: { baseURL: judge.baseUrl, concurrency: places } },
  },
  rules: [{ name: 'all', scorers: [...code, 'grounding'] }],
  readiness: { decisionWait: `${DECISION_WAIT_MS}ms`, maxWait: '5m' },
  log: { level: 'error' },
});

/** Sends faster than one sender, which waits for each insert. */
async function sendMany({ otlpHttp }: ServeAddresses, count: number): Promise<void> {
  const shares = Array.from({ length: SENDERS }, (_, index) => Math.floor((count + index) / SENDERS));
  await Promise.all(shares.map((share) => sendAgentTraces(otlpHttp, share)));
}

async function countScored({ clickhouse }: ServeAddresses, scorer: string): Promise<number> {
  const sql = `SELECT toString(count()) AS n FROM decisions FINAL WHERE Scorer = '${scorer}' AND Status = 'scored'`;
  return Number((await queryRows<{ n: string }>(clickhouse, sql))[0]?.n);
}

async function measureFlood(serve: ServeAddresses): Promise<void> {
  const before = readPartSeconds(serve.pid);
  const memory = [Math.round(readResidentBytes(serve.pid) / MIB)];
  const startedMs = performance.now();
  await sendMany(serve, traces);
  const sentMs = performance.now();
  for (let done = 0; done < traces;) {
    // At the end more often, so that the last wait counts for little.
    await sleep(done < 0.95 * traces ? 1_000 : 200);
    done = await countScored(serve, 'grounding');
    memory.push(Math.round(readResidentBytes(serve.pid) / MIB));
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const spent = [...readPartSeconds(serve.pid)].map(
    ([part, total]) => [part, total - (before.get(part) ?? 0)] as const,
  );
  const perTrace = (cpu: number) => `${((cpu * 1_000) / traces).toFixed(1)} ms`;
  console.log(
    `flood of ${traces}: ${(traces / seconds).toFixed(1)} judged/s over ${seconds.toFixed(0)} s (sent in ${((sentMs - startedMs) / 1_000).toFixed(0)} s; at most ${((places * 1_000) / judgeMs).toFixed(0)}/s)`,
  );
  console.log(
    `processor a judged trace: ${perTrace(spent.reduce((sum, [, cpu]) => sum + cpu, 0))} (${spent
      .map(([part, cpu]) => `${part} ${perTrace(cpu)}`)
      .join(', ')})`,
  );
  const firstAskedMs = [...judge.askedAtMs.values()].find((atMs) => atMs >= startedMs) ?? startedMs;
  const judgedSeconds = seconds - (firstAskedMs - startedMs) / 1_000;
  console.log(
    `from the first question to the last stored score: ${(traces / judgedSeconds).toFixed(1)} judged/s`,
  );
  console.log(`resident MiB over the flood: ${showQuarters(memory)}`);
}

/** Shows the first, the last and three values between, and the largest. */
function showQuarters(found: readonly number[]): string {
  const quarters = [0, 0.25, 0.5, 0.75, 1].map((share) => found[Math.floor(share * (found.length - 1))]);
  return `${quarters.join(', ')}; most ${Math.max(...found)}`;
}

/** Measures single traces and prints the result. */
async function showSingles(serve: ServeAddresses, title: string): Promise<void> {
  const { median: middle, p99 } = await measureSingles(serve, judge, {
    count: singles,
    decisionWaitMs: DECISION_WAIT_MS,
    pauseMs: (index) => 500 + 137 * (index % 5),
  });
  console.log(
    `${title}: from the decision wait to the judge ${middle.toFixed(0)} ms (median), ${p99.toFixed(0)} ms (p99) of ${singles} traces`,
  );
}

/** Sends a steady stream. Returns the times from the end of the decision wait to the stored score of a code scorer, milliseconds. */
async function streamCode({
  otlpHttp,
  clickhouse,
}: ServeAddresses): Promise<{ median: number; p99: number }> {
  const [begin] = await queryRows<{ now: string }>(clickhouse, 'SELECT toString(now64(9)) AS now');
  const beginMs = performance.now();
  for (let second = 1; second <= STREAM.seconds; second += 1) {
    await sendAgentTraces(otlpHttp, STREAM.tracesPerSecond);
    await sleep(Math.max(0, beginMs + second * 1_000 - performance.now()));
  }
  const sql = `SELECT toString(uniqExact(TraceId)) AS traces,
      quantileExact(0.5)(1000 * (toFloat64(Written) - toFloat64(Arrived))) - ${DECISION_WAIT_MS} AS median,
      quantileExact(0.99)(1000 * (toFloat64(Written) - toFloat64(Arrived))) - ${DECISION_WAIT_MS} AS p99
    FROM (SELECT TraceId, min(WrittenAt) AS Written FROM scores WHERE Scorer = 'completeness' GROUP BY TraceId) AS s
    INNER JOIN (SELECT TraceId, max(LastArrival) AS Arrived FROM trace_activity GROUP BY TraceId
      HAVING min(FirstArrival) > '${begin?.now}') AS a USING (TraceId)`;
  for (;;) {
    const [found] = await queryRows<{ traces: string; median: number; p99: number }>(clickhouse, sql);
    if (found !== undefined && Number(found.traces) >= STREAM.seconds * STREAM.tracesPerSecond) {
      return found;
    }
    await sleep(500);
  }
}

/** Counts the traces without a judged score. */
async function countOpen(serve: ServeAddresses): Promise<number> {
  const sql = 'SELECT toString(uniqExact(TraceId)) AS n FROM trace_activity';
  const [stored] = await queryRows<{ n: string }>(serve.clickhouse, sql);
  return Number(stored?.n) - (await countScored(serve, 'grounding'));
}

async function waitForJudges(serve: ServeAddresses): Promise<void> {
  while ((await countOpen(serve)) > 0) {
    await sleep(1_000);
  }
}

/** Measures code scorers alone and beside a backlog of judges, in turns. */
async function measureCode(serve: ServeAddresses): Promise<void> {
  const found: Record<'alone' | 'beside', { median: number; p99: number }[]> = { alone: [], beside: [] };
  for (let round = 0; round < codeRounds; round += 1) {
    found.alone.push(await streamCode(serve));
    await waitForJudges(serve);
    await sendMany(serve, STREAM.backlog);
    await sleep(2 * DECISION_WAIT_MS);
    found.beside.push(await streamCode(serve));
    const left = await countOpen(serve);
    console.log(
      `beside a backlog of ${STREAM.backlog}: ${left} traces still waited for the judge at the end`,
    );
    await waitForJudges(serve);
  }
  for (const figure of ['median', 'p99'] as const) {
    const alone = median(found.alone.map((each) => each[figure]));
    const beside = median(found.beside.map((each) => each[figure]));
    console.log(
      `code scorers, ${figure} from the decision wait to the stored score: alone ${alone.toFixed(0)} ms, beside ${beside.toFixed(0)} ms (${(beside / alone).toFixed(2)}x)`,
    );
  }
}

console.log(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)} before`);
try {
  const serve = await folder.start();
  if (singles > 0) {
    await showSingles(serve, 'single traces');
  }
  if (codeRounds > 0) {
    await measureCode(serve);
  } else if (traces > 0) {
    await measureFlood(serve);
  }
  if (backlog > 0) {
    const memory: number[] = [];
    const timer = setInterval(() => memory.push(Math.round(readResidentBytes(serve.pid) / MIB)), 1_000);
    await sendMany(serve, backlog);
    await showSingles(serve, `single traces beside a backlog of ${backlog}`);
    console.log(`traces that still waited for the judge: ${await countOpen(serve)}`);
    await waitForJudges(serve);
    clearInterval(timer);
    console.log(`resident MiB over the backlog: ${showQuarters(memory)}`);
  }
} finally {
  await folder.dispose();
  await judge.close();
}
