/**
 * A move of many spans to another embedded engine, beside a running `serve` that gets spans, killed several times. Prints how long the
 * move takes for each second that the engine needs to insert the same spans, and for how long writes were held. Ends with 1 when a
 * table differs. `npm run bench:move -- --spans 1000000 --kills 3`
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { anAgentTrace } from '../support/builders/agent-trace.ts';
import { requireDone, startCli } from '../support/processes/cli.ts';
import { sendTraces, ServeFolder } from '../support/processes/serve-process.ts';
import { queryRows, runCommand } from '../support/store/clickhouse-query.ts';
import { testEngine } from '../support/store/engine.ts';
import { differingTables } from '../support/store/kept-folder.ts';

const { values } = parseArgs({
  options: { spans: { type: 'string', default: '1000000' }, kills: { type: 'string', default: '3' } },
});
const [spans, kills] = [Number(values.spans), Number(values.kills)];
const SPANS_PER_INSERT = 100_000;
const DATABASE = 'moved';

/** Spans of 2 KB, four to a trace. */
const insertSpans = (from: number) => `
  INSERT INTO otel_traces (Timestamp, TraceId, SpanId, ParentSpanId, SpanName, ServiceName, ResourceAttributes, SpanAttributes, Duration)
  SELECT now64(9), lower(hex(MD5(toString(intDiv(number, 4))))), lower(hex(sipHash64(number))),
    if(number % 4 = 0, '', lower(hex(sipHash64(number - number % 4)))), 'chat', 'bench', map('service.name', 'bench'),
    map('http.route', '/chat', 'text', randomPrintableASCII(1900)), 5
  FROM numbers(${from}, ${Math.min(SPANS_PER_INSERT, spans - from)})`;

const folder = new ServeFolder({ rules: [{ name: 'all', scorers: ['keyword-coverage'] }] });
const engine = await testEngine();
const { otlpHttp, clickhouse } = await folder.start();
const seconds = (sinceMs: number) => (performance.now() - sinceMs) / 1_000;

const filledMs = performance.now();
for (let from = 0; from < spans; from += SPANS_PER_INSERT) {
  await runCommand(clickhouse, insertSpans(from));
}
const fillS = seconds(filledMs);
// The last pass copies what came in the last minute: there it should be the spans of the sender alone.
await sleep(65_000);

const acknowledged: string[] = [];
let refusals = 0;
const stopping = new AbortController();
const sending = (async () => {
  while (!stopping.signal.aborted) {
    const trace = anAgentTrace();
    const isStored = (await sendTraces(otlpHttp, trace.request())) === 200;
    if (isStored) {
      acknowledged.push(trace.traceId);
    } else {
      refusals += 1;
    }
    await sleep(100);
  }
})();

const move = () => {
  const url = new URL(engine.url);
  url.username = engine.username;
  url.password = engine.password;
  const args = ['move', '--to', url.href, '--database', DATABASE, '--json', '--config', folder.configFile];
  return startCli(args, { cwd: folder.path, stdin: '' });
};

const movedMs = performance.now();
for (let kill = 0; kill < kills; kill++) {
  const running = move();
  await sleep(10_000 + 5_000 * kill);
  running.child.kill('SIGKILL');
  await running.ended;
  process.stdout.write(`killed after ${seconds(movedMs).toFixed(0)} s of moving\n`);
}
const result = await move().ended;
requireDone(result);
const moveS = seconds(movedMs);
stopping.abort();
await sending;

const differences = await differingTables(clickhouse, { ...engine, database: DATABASE });
const [counts] = await queryRows<{ spans: string; distinct: string }>(
  { ...engine, database: DATABASE },
  'SELECT count() AS spans, uniqExact(TraceId, SpanId) AS distinct FROM otel_traces',
);
const stored = await queryRows<{ TraceId: string }>(
  { ...engine, database: DATABASE },
  "SELECT DISTINCT TraceId FROM otel_traces WHERE ServiceName != 'bench'",
);
const known = new Set(stored.map(({ TraceId }) => TraceId));
const lost = acknowledged.filter((id) => !known.has(id)).length;
const { heldSeconds, passes } = JSON.parse(result.stdout) as { heldSeconds: number; passes: number };
process.stdout.write(
  [
    `spans: ${counts?.spans}, distinct: ${counts?.distinct}; acknowledged meanwhile: ${acknowledged.length} traces, lost: ${lost}; refused: ${refusals}`,
    `tables that differ: ${differences.join(', ') || 'none'}`,
    `move with ${kills} kills: ${(moveS / fillS).toFixed(1)} times the time of the inserts (${moveS.toFixed(0)} s / ${fillS.toFixed(0)} s); last run: ${passes} passes, writes held for ${heldSeconds} s`,
    '',
  ].join('\n'),
);
await folder.dispose();
await engine.stop();
process.exitCode = differences.length + lost > 0 || counts?.spans !== counts?.distinct ? 1 : 0;
