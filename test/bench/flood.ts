/**
 * A judge that is slower than the traffic: judged traces a second, processor time and memory over a flood; then the time from the
 * end of the decision wait to the question of the judge, for single traces beside a backlog and without one. Every trace has one
 * question. `node test/bench/flood.ts [--traces 10000] [--judge-ms 200] [--places 32] [--code] [--singles 100] [--backlog 0]`;
 * `--code` adds two code scorers to every trace.
 */
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { anAgentTrace } from '../support/builders/agent-trace.ts';
import { replyText, startJudgeServer } from '../support/fakes/judge-server.ts';
import { sendTraces, ServeFolder, type ServeAddresses } from '../support/processes/serve-process.ts';
import { queryRows } from '../support/store/clickhouse-query.ts';
import { sendAgentTraces } from './agent-load.ts';
import { median } from './measured-time.ts';
import { listChildren, readCpuSeconds, readResidentBytes } from './process-cpu.ts';
import { answerSchema, type Schema } from './schema-judge.ts';

const { values } = parseArgs({
  options: {
    traces: { type: 'string', default: '10000' },
    'judge-ms': { type: 'string', default: '200' },
    places: { type: 'string', default: '32' },
    code: { type: 'boolean', default: false },
    singles: { type: 'string', default: '100' },
    backlog: { type: 'string', default: '0' },
  },
});
const traces = Number(values.traces);
const judgeMs = Number(values['judge-ms']);
const places = Number(values.places);
const singles = Number(values.singles);
const backlog = Number(values.backlog);

const DECISION_WAIT_MS = 2_000;
const SENDERS = 4;
const MIB = 1024 * 1024;

/** Times at which the judge was asked about a trace, by the trace id. */
const askedAtMs = new Map<string, number>();
const judge = await startJudgeServer(({ prompt, body }) => {
  const traceId = /warm in ([0-9a-f]{32})/u.exec(prompt)?.[1];
  if (traceId !== undefined) {
    askedAtMs.set(traceId, performance.now());
  }
  const schema = body.response_format?.json_schema?.schema as Schema | undefined;
  return { ...replyText(schema === undefined ? 'so it is' : answerSchema(schema, prompt)), delayMs: judgeMs };
});

const code = values.code ? ['completeness', 'content-similarity'] : [];
const folder = new ServeFolder({
  judges: {
    default: 'local/judge',
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
  const engine = listChildren(serve.pid)[0] ?? 0;
  const before = { all: readCpuSeconds(serve.pid), engine: readCpuSeconds(engine) };
  const memory = [readResidentBytes(serve.pid)];
  const startedMs = performance.now();
  await sendMany(serve, traces);
  const sentMs = performance.now();
  let codeMs = code.length === 0 ? null : Number.NaN;
  for (let done = 0; done < traces;) {
    await sleep(1_000);
    done = await countScored(serve, 'grounding');
    memory.push(readResidentBytes(serve.pid));
    if (Number.isNaN(codeMs) && (await countScored(serve, 'completeness')) >= traces) {
      codeMs = performance.now() - startedMs;
    }
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const all = readCpuSeconds(serve.pid) - before.all;
  const ofEngine = readCpuSeconds(engine) - before.engine;
  const perTrace = (cpu: number) => `${((cpu * 1_000) / traces).toFixed(1)} ms`;
  console.log(
    `flood of ${traces}: ${(traces / seconds).toFixed(1)} judged/s over ${seconds.toFixed(0)} s (sent in ${((sentMs - startedMs) / 1_000).toFixed(0)} s; at most ${((places * 1_000) / judgeMs).toFixed(0)}/s)`,
  );
  console.log(
    `processor a judged trace: ${perTrace(all)} (serve ${perTrace(all - ofEngine)}, engine ${perTrace(ofEngine)})`,
  );
  if (codeMs !== null) {
    console.log(`the code scorers had decided all traces after ${(codeMs / 1_000).toFixed(0)} s`);
  }
  const quarters = [0, 0.25, 0.5, 0.75, 1].map((share) => memory[Math.floor(share * (memory.length - 1))]);
  console.log(
    `resident MiB over the flood: ${quarters.map((bytes) => Math.round((bytes ?? 0) / MIB)).join(', ')}; most ${Math.round(Math.max(...memory) / MIB)}`,
  );
}

/** Sends single traces and measures the time from the end of their decision wait to the question of the judge. */
async function measureSingles(serve: ServeAddresses, title: string): Promise<void> {
  const sentAtMs = new Map<string, number>();
  for (let index = 0; index < singles; index += 1) {
    const trace = anAgentTrace();
    const request = trace.answering(`It is warm in ${trace.traceId}.`).request();
    await sendTraces(serve.otlpHttp, request);
    sentAtMs.set(trace.traceId, performance.now());
    await sleep(500 + 137 * (index % 5));
  }
  const deadlineMs = performance.now() + 120_000;
  const isOpen = () => [...sentAtMs.keys()].some((traceId) => !askedAtMs.has(traceId));
  while (isOpen() && performance.now() < deadlineMs) {
    await sleep(200);
  }
  const waits = [...sentAtMs].map(
    ([traceId, sentMs]) => (askedAtMs.get(traceId) ?? Infinity) - sentMs - DECISION_WAIT_MS,
  );
  const sorted = waits.toSorted((a, b) => a - b);
  const p99 = sorted[Math.ceil(0.99 * sorted.length) - 1];
  console.log(
    `${title}: from the decision wait to the judge ${median(waits).toFixed(0)} ms (median), ${p99?.toFixed(0)} ms (p99) of ${singles} traces`,
  );
}

console.log(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)} before`);
try {
  const serve = await folder.start();
  if (singles > 0) {
    await measureSingles(serve, 'single traces');
  }
  if (traces > 0) {
    await measureFlood(serve);
  }
  if (backlog > 0) {
    await sendMany(serve, backlog);
    await sleep(10_000);
    await measureSingles(serve, `single traces beside a backlog of ${backlog}`);
    console.log(`resident MiB: ${Math.round(readResidentBytes(serve.pid) / MIB)}`);
  }
} finally {
  await folder.dispose();
  await judge.close();
}
