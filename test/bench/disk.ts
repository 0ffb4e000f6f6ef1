/**
 * Disk that a store needs: traces of 8 spans with three code scorers, and a judged one on a fifth of them. Prints the bytes of each table
 * after its merges, and the sums from which `docs/capacity.md` is computed. `node test/bench/disk.ts [--traces 10000]
 * [--scorers behaviour]`
 */
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { anAgentTrace } from '../support/builders/agent-trace.ts';
import { requestBytes } from '../support/builders/otlp-proto-writer.ts';
import { ServeFolder, type ServeAddresses } from '../support/processes/serve-process.ts';
import { queryRows } from '../support/store/clickhouse-query.ts';
import { buildText, createRandom } from './bench-requests.ts';
import { head, row, shown } from './bench-table.ts';
import { startTimedJudge } from './single-traces.ts';

const { values } = parseArgs({
  options: {
    traces: { type: 'string', default: '10000' },
    scorers: { type: 'string', default: 'content-similarity,keyword-coverage,tone' },
  },
});
const traces = Number(values.traces);

const CODE_SCORERS = values.scorers.split(',');
const JUDGED_RATE = 0.2;
const TRACES_PER_REQUEST = 20;
const LOOK_EVERY_MS = 1_000;

/** Tool calls of a trace beside the one that each has: with the agent and two model calls, 8 spans. */
const MORE_TOOLS = 4;
const SPANS_PER_TRACE = 8;

/** Characters of the texts, so that a span has about 2.6 KB. */
const CHARS = { question: 1_000, result: 2_800, sentence: 120 };
const SENTENCES = 10;

/** Time without a change of the parts after which the merges have ended. */
const QUIET_MS = 15_000;

/** Tables whose rows are kept for longer than this have scores. */
const SHORT_DAYS = 60;

const SPANS = 'otel_traces';
const CALLS = 'judge_calls';

const judge = await startTimedJudge(0);
const folder = new ServeFolder({
  judges: { default: 'local/judge', providers: { local: { baseURL: judge.baseUrl, concurrency: 32 } } },
  rules: [
    { name: 'code', scorers: CODE_SCORERS },
    { name: 'judged', scorers: ['grounding'], sample: { rate: JUDGED_RATE } },
  ],
  log: { level: 'error' },
});

const random = createRandom(20_261_124);

function buildTrace(): { resourceSpans: unknown[] } {
  const trace = anAgentTrace().asking(buildText(random, CHARS.question));
  for (let tool = 0; tool < MORE_TOOLS; tool += 1) {
    trace.with({
      name: 'look_up',
      args: { order: random() % 10_000 },
      result: { text: buildText(random, CHARS.result) },
    });
  }
  const sentences = Array.from({ length: SENTENCES }, () => `${buildText(random, CHARS.sentence).trim()}.`);
  return trace.answering(sentences.join(' ')).request() as { resourceSpans: unknown[] };
}

/** Sends the traces as gzipped protobuf. Returns the bytes of a span, and those on the network. */
async function send({ otlpHttp }: ServeAddresses): Promise<{ plain: number; zipped: number }> {
  let plain = 0;
  let zipped = 0;
  for (let sent = 0; sent < traces; sent += TRACES_PER_REQUEST) {
    const resourceSpans = Array.from({ length: TRACES_PER_REQUEST }, buildTrace).flatMap(
      ({ resourceSpans: spans }) => spans,
    );
    const bytes = requestBytes({ resourceSpans });
    const body = gzipSync(bytes);
    const reply = await fetch(`${otlpHttp}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' },
      body,
    });
    if (reply.status !== 200) {
      throw new Error(`a request was answered with ${reply.status}: ${await reply.text()}`);
    }
    plain += bytes.byteLength;
    zipped += body.byteLength;
  }
  const spans = traces * SPANS_PER_TRACE;
  return { plain: plain / spans, zipped: zipped / spans };
}

async function readText({ clickhouse }: ServeAddresses, sql: string): Promise<string> {
  const [found] = await queryRows<{ text: string }>(clickhouse, sql);
  return found?.text ?? '';
}

/** Waits until each trace has a decision on every code scorer, and on the judged one. */
async function waitForDecisions(serve: ServeAddresses): Promise<void> {
  const wanted = traces * (CODE_SCORERS.length + 1);
  const sql = `SELECT toString(uniqExact(TraceId, Rule, Scorer)) AS text FROM decisions WHERE Status != 'deferred'`;
  while (Number(await readText(serve, sql)) < wanted) {
    await sleep(LOOK_EVERY_MS);
  }
}

/** Waits until no merge has changed a large table for a while. */
async function waitForMerges(serve: ServeAddresses): Promise<void> {
  const sql = `SELECT arrayStringConcat(arraySort(groupArray(name)), ' ') AS text FROM system.parts
    WHERE active AND database = currentDatabase() AND table IN ('${SPANS}', '${CALLS}', 'scores', 'decisions', 'runs')`;
  let before = '';
  for (let sinceMs = performance.now(); performance.now() - sinceMs < QUIET_MS; await sleep(LOOK_EVERY_MS)) {
    const now = await readText(serve, sql);
    if (now !== before) {
      before = now;
      sinceMs = performance.now();
    }
  }
}

interface TableSize {
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
  /** Days for which rows are kept; 0: for ever. */
  readonly days: number;
}

async function readSizes({ clickhouse }: ServeAddresses): Promise<TableSize[]> {
  const rows = await queryRows<Record<keyof TableSize, string>>(
    clickhouse,
    `SELECT table AS name, toString(sum(p.rows)) AS rows, toString(sum(bytes_on_disk)) AS bytes,
      toString(any(toUInt32OrZero(extract(t.engine_full, 'toIntervalDay\\\\((\\\\d+)\\\\)')))) AS days
    FROM system.parts AS p INNER JOIN system.tables AS t ON t.database = p.database AND t.name = p.table
    WHERE active AND p.database = currentDatabase() GROUP BY table ORDER BY sum(bytes_on_disk) DESC`,
  );
  return rows.map(({ name, ...numbers }) => ({
    name,
    rows: Number(numbers.rows),
    bytes: Number(numbers.bytes),
    days: Number(numbers.days),
  }));
}

/** Prints the tables, and the sums of `FIGURES`. */
function report(sizes: readonly TableSize[]): void {
  head(
    `Disk of ${traces} traces of ${SPANS_PER_TRACE} spans`,
    'table',
    'rows',
    'bytes a row',
    'bytes a trace',
    'kept, days',
  );
  for (const { name, rows, bytes, days } of sizes) {
    row(name, `${rows}`, bytes / rows, bytes / traces, days === 0 ? '' : `${days}`);
  }
  const find = (wanted: string) => sizes.find(({ name }) => name === wanted);
  const calls = find(CALLS);
  const others = sizes.filter(({ name }) => name !== SPANS && name !== CALLS);
  const sum = (isLong: boolean) =>
    others.filter(({ days }) => days > SHORT_DAYS === isLong).reduce((all, { bytes }) => all + bytes, 0) /
    traces;
  console.log(`\nspan: ${shown((find(SPANS)?.bytes ?? 0) / traces / SPANS_PER_TRACE)} bytes`);
  console.log(`judge call: ${shown((calls?.bytes ?? 0) / (calls?.rows ?? 0))} bytes`);
  console.log(
    `rest of a trace: ${shown(sum(false))} bytes as long as spans, ${shown(sum(true))} bytes as long as scores`,
  );
}

console.log(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)} before`);
try {
  const serve = await folder.start();
  const { plain, zipped } = await send(serve);
  console.log(`span: ${plain.toFixed(0)} bytes of protobuf, ${zipped.toFixed(0)} bytes with gzip`);
  await waitForDecisions(serve);
  const statuses = await queryRows<{ Scorer: string; Status: string; n: string }>(
    serve.clickhouse,
    'SELECT Scorer, Status, toString(count()) AS n FROM decisions FINAL GROUP BY ALL ORDER BY ALL',
  );
  console.log(statuses.map(({ Scorer, Status, n }) => `${Scorer} ${Status}: ${n}`).join(', '));
  await waitForMerges(serve);
  report(await readSizes(serve));
} finally {
  await folder.dispose();
  await judge.close();
}
