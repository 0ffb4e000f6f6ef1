/**
 * Measures the speed of reading traces as agent runs: over the recorded traces of real emitters, and over growing traces; all
 * times are CPU times. `node test/bench/normalise.ts [seconds a measurement]`
 */
import { decodeTraces, readTrace, readTraces } from '../../src/conventions/index.ts';
import type { TraceData } from '../../src/domain/trace/span.ts';
import { listExpectations, recordedSpans } from '../support/recordings/recorded-spans.ts';
import { buildSpan, buildTrace, chatMessage, chatSpan } from '../support/builders/spans.ts';
import { GROWN_TRACES } from './grown-traces.ts';
import { median } from './measured-time.ts';

const secondsEach = Number(process.argv[2] ?? 1);
const MIN_ROUNDS = 3;
const ROUND_MS = 20;
const MEGABYTE = 1_000_000;

/** CPU time of this process, garbage collection included: unlike the clock, it does not count what others do. */
function computeCpuMs(work: () => unknown, times: number): number {
  const before = process.cpuUsage();
  for (let time = 0; time < times; time += 1) {
    work();
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** CPU milliseconds of `work`: the median of rounds that are long enough to be measured. */
function medianMs(work: () => unknown): number {
  let times = 1;
  while (computeCpuMs(work, times) < ROUND_MS) {
    times *= 2;
  }
  const measured: number[] = [];
  for (let total = 0; measured.length < MIN_ROUNDS || total < secondsEach * 1000;) {
    const tookMs = computeCpuMs(work, times);
    total += tookMs;
    measured.push(tookMs / times);
  }
  return measured.toSorted((a, b) => a - b)[Math.floor(measured.length / 2)] ?? 0;
}

/** Bytes of a trace's attributes, events and bodies in UTF-8. */
function contentBytes(trace: TraceData): number {
  const ofMap = (map: ReadonlyMap<string, string>): number =>
    [...map].reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  const spans = trace.spans.reduce(
    (sum, span) =>
      sum + ofMap(span.attributes) + span.events.reduce((all, event) => all + ofMap(event.attributes), 0),
    0,
  );
  return trace.logs.reduce((sum, log) => sum + ofMap(log.attributes) + Buffer.byteLength(log.body), spans);
}

function benchRecordings(): void {
  const names = (['spans', 'spans-multi'] as const).flatMap((folder) =>
    listExpectations(folder).map(([name]) => recordedSpans(folder, name)),
  );
  const texts = names.filter((text) => text !== '');
  const traces = texts.flatMap((text) => decodeTraces(text).traces);
  const runs = traces.reduce((sum, trace) => sum + readTrace(trace).runs.length, 0);
  const spans = traces.reduce((sum, trace) => sum + trace.spans.length, 0);
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const content = traces.reduce((sum, trace) => sum + contentBytes(trace), 0);
  console.log(
    `${texts.length} recordings: ${traces.length} traces, ${runs} runs, ${spans} spans, ` +
      `${(bytes / MEGABYTE).toFixed(1)} MB of OTLP JSON, ${(content / MEGABYTE).toFixed(1)} MB of content\n`,
  );
  const measured = [
    {
      what: 'readTrace (from the store)',
      bytes: content,
      ms: medianMs(() => traces.forEach((trace) => void readTrace(trace))),
    },
    {
      what: 'readTraces (from OTLP JSON)',
      bytes,
      ms: medianMs(() => texts.forEach((text) => void readTraces(text))),
    },
  ];
  console.table(
    Object.fromEntries(
      measured.map(({ what, bytes: size, ms }) => [
        what,
        {
          'runs/s': Math.round((runs / ms) * 1000),
          'spans/s': Math.round((spans / ms) * 1000),
          'MB/s': Number((size / MEGABYTE / (ms / 1000)).toFixed(1)),
        },
      ]),
    ),
  );
}

/** Measures every recording by itself, and shows the cost of a span by the richest convention of each. */
function benchConventions(): void {
  const recordings = (['spans', 'spans-multi', 'spans-thirdparty'] as const)
    .flatMap((folder) => listExpectations(folder).map(([name]) => recordedSpans(folder, name)))
    .filter((text) => text !== '')
    .map((text) => decodeTraces(text).traces);
  const costs = recordings.map((traces) => {
    const spans = traces.reduce((sum, trace) => sum + trace.spans.length, 0);
    const convention = traces
      .flatMap((trace) => readTrace(trace).runs.flatMap((run) => run.conventions))
      .at(0);
    const ms = medianMs(() => traces.forEach((trace) => void readTrace(trace)));
    return { convention: convention ?? 'none', spans, us: (ms * 1000) / spans };
  });
  console.log('\nus/span of single recordings, by the richest convention of their first run');
  console.table(
    Object.fromEntries(
      [...Map.groupBy(costs, ({ convention }) => convention)].map(([convention, each]) => [
        convention,
        {
          recordings: each.length,
          spans: each.reduce((sum, { spans }) => sum + spans, 0),
          'us/span (median)': Number(median(each.map(({ us }) => us)).toFixed(1)),
          'us/span (most)': Number(Math.max(...each.map(({ us }) => us)).toFixed(1)),
        },
      ]),
    ),
  );
  console.log(`median over all recordings: ${median(costs.map(({ us }) => us)).toFixed(1)} us/span`);
}

const WEB_KEYS = {
  server: {
    'http.request.method': 'GET',
    'http.route': '/orders/{id}',
    'url.path': '/orders/7',
    'url.scheme': 'https',
    'http.response.status_code': '200',
    'user_agent.original': 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
    'client.address': '10.1.2.3',
    'server.address': 'shop.example',
    'network.protocol.version': '1.1',
    'thread.name': 'http-nio-8080-exec-1',
  },
  database: {
    'db.system.name': 'postgresql',
    'db.namespace': 'shop',
    'db.query.text': 'SELECT id, status, shipped_at FROM orders WHERE id = $1 ORDER BY shipped_at DESC',
    'db.operation.name': 'SELECT',
    'server.address': 'db.example',
    'server.port': '5432',
  },
  queue: {
    'messaging.system': 'kafka',
    'messaging.destination.name': 'orders',
    'messaging.operation.type': 'publish',
    'messaging.message.body.size': '812',
    'app.tenant': 'north',
    'app.feature': 'order lookup with cached prices',
  },
} as const;

/** A trace of a web service: a request with database queries and messages; it is around a model call when it is mixed. */
function webTrace(isMixed: boolean): TraceData {
  const { server, database, queue } = WEB_KEYS;
  const parts = Array.from({ length: 18 }, (_, index) =>
    buildSpan(`part-${index}`, index % 3 === 0 ? queue : database, {
      name: index % 3 === 0 ? 'publish orders' : 'SELECT shop.orders',
      scope: 'io.opentelemetry.jdbc',
      parent: 'request',
      at: index,
    }),
  );
  const said = {
    input: [chatMessage('user', 'Where is order 7?')],
    output: [chatMessage('assistant', 'In Hamburg.')],
  };
  const call = isMixed ? [chatSpan('call', said, { parent: 'request' })] : [];
  const request = buildSpan('request', server, {
    name: 'GET /orders/{id}',
    scope: 'io.opentelemetry.tomcat',
  });
  return buildTrace([request, ...parts, ...call]);
}

/** Shows what the reading by shape adds to traces whose spans are no agent's; both are measured in turns. */
function benchWebTraffic(): void {
  console.log('\nWeb traffic: us/span with the reading by shape and without it');
  const kinds = { 'web spans alone': webTrace(false), 'web spans around a model call': webTrace(true) };
  const rows = Object.entries(kinds).map(([name, trace]) => {
    const shaped = () => readTrace(trace);
    const plain = () => readTrace({ ...trace, readByShape: false });
    const times = Math.ceil(ROUND_MS / medianMs(plain));
    const pairs: [shaped: number, plain: number][] = [];
    for (let total = 0; total < secondsEach * 4_000; total += 2 * ROUND_MS) {
      pairs.push([computeCpuMs(shaped, times), computeCpuMs(plain, times)]);
    }
    const inUs = (ms: readonly number[]) =>
      Number(((median(ms) * 1000) / times / trace.spans.length).toFixed(2));
    const cells = {
      'with (us/span)': inUs(pairs.map(([ms]) => ms)),
      'without (us/span)': inUs(pairs.map(([, ms]) => ms)),
      ratio: Number(median(pairs.map(([a, b]) => a / b)).toFixed(2)),
    };
    return [name, cells] as const;
  });
  console.table(Object.fromEntries(rows));
}

function benchGrowth(): void {
  console.log('\nGrowth: exponent 1 is linear in the bytes; below it, what is fixed weighs on small traces.');
  for (const { name, sizes, make } of GROWN_TRACES) {
    let before: { bytes: number; ms: number } | undefined;
    const rows = sizes.map((size) => {
      const trace = make(size);
      const bytes = contentBytes(trace);
      const ms = medianMs(() => readTrace(trace));
      const exponent =
        before === undefined ? null : Math.log(ms / before.ms) / Math.log(bytes / before.bytes);
      before = { bytes, ms };
      return {
        spans: trace.spans.length,
        bytes,
        ms: Number(ms.toFixed(3)),
        'us/span': Number(((ms * 1000) / size).toFixed(1)),
        'ns/byte': Number(((ms * MEGABYTE) / bytes).toFixed(1)),
        exponent: exponent === null ? '' : exponent.toFixed(2),
      };
    });
    console.log(`\n${name}`);
    console.table(rows);
  }
}

benchRecordings();
benchConventions();
benchWebTraffic();
benchGrowth();
