/** Machine on which the figures were measured. */
const MACHINE =
  'Two cores of an AMD EPYC in a virtual machine, 23 GiB of memory, Node.js 24, the embedded engine and all processes on it, November 2026. The machine did other work at the same time.';

/** Figure that a bench of this repository measured. */
export interface Figure {
  readonly value: number;
  readonly unit: string;
  readonly meaning: string;
  /** Command that measures it again. */
  readonly command: string;
}

const INGEST = 'npm run bench:ingest';
const BACKFILL = 'npm run bench:backfill';
const FLOOD = 'npm run bench:flood';
const DISK = 'SELECT table, sum(bytes_on_disk) FROM system.parts WHERE active GROUP BY table';
const PROMPTS = 'SELECT avg(InputTokens), avg(OutputTokens) FROM judge_calls';

/** Figures from which the capacity is computed. A span has about 2.5 KB. */
export const FIGURES = {
  receiveUs: figure(23.5, 'µs of processor a span', 'receiver: OTLP/HTTP, protobuf with gzip', INGEST),
  insertUs: figure(41.5, 'µs of processor a span', 'store: the inserts of these spans', INGEST),
  codeTraceMs: figure(
    1.86,
    'ms of processor a trace',
    'three code scorers on a stored trace of 8 spans: scorer process and store',
    BACKFILL,
  ),
  codeTracesPerSecond: figure(842, 'traces a second', 'the same: one scorer process and its store', BACKFILL),
  judgedScoreMs: figure(
    7.2,
    'ms of processor a score',
    'a judged score: ingest of its 4 spans, scorer process and store',
    FLOOD,
  ),
  judgedPerSecondAt200Ms: figure(145, 'scores a second', 'one process, judge of 200 ms, 32 places', FLOOD),
  judgedPerSecondAt500Ms: figure(
    60.9,
    'scores a second',
    'one process, judge of 500 ms, 32 places',
    `${FLOOD} -- --judge-ms 500`,
  ),
  idleCores: figure(
    0.3,
    'cores',
    'all processes at 60 spans a second: most of it does not grow with the traffic',
    'npm run bench:steady',
  ),
  spanNetworkBytes: figure(471, 'bytes', 'span on the network, protobuf with gzip', DISK),
  spanDiskBytes: figure(527, 'bytes', 'span on disk', DISK),
  traceShortDiskBytes: figure(
    387,
    'bytes',
    'rest of a trace on disk: rows that are kept as long as spans',
    DISK,
  ),
  traceLongDiskBytes: figure(
    965,
    'bytes',
    'rest of a trace on disk: its run, four decisions and three scores, kept as long as scores',
    DISK,
  ),
  callDiskBytes: figure(4_062, 'bytes', 'judge call on disk, with prompt and reply', DISK),
  inputTokens: figure(
    1_745,
    'tokens',
    'question of a score of `grounding`: 4,000 characters of evidence, 4 characters a token',
    PROMPTS,
  ),
  outputTokens: figure(296, 'tokens', 'reply to it: ten sentences of an answer', PROMPTS),
} as const satisfies Readonly<Record<string, Figure>>;

function figure(value: number, unit: string, meaning: string, command: string): Figure {
  return { value, unit, meaning, command };
}

const SECONDS_PER_DAY = 86_400;
const PER_MILLION = 1e6;
const MS_PER_S = 1_000;
const BYTES_PER_TOKEN = 4;

/** Places of the judge in the measured floods. */
const FLOOD_PLACES = 32;

/** Spans of the traces of `bench:backfill`, whose code scorers were measured. */
const SPANS_OF_CODE_TRACE = 8;

/** Days for which rows are kept by default (`store.retention`). */
const SHORT_DAYS = 30;
const LONG_DAYS = 400;

/** Part of a core, or of a process, that is planned: the rest is for peaks, restarts and the work of a lost process. */
const PLANNED_SHARE = 0.6;

/** USD per million tokens. */
interface JudgePrice {
  readonly input: number;
  readonly output: number;
}

/** Traffic and its rules: three code scorers on every trace, and one judged scorer, which asks one question, on a sample. */
export interface Load {
  readonly spansPerSecond: number;
  readonly spansPerTrace: number;
  /** Sample rate of the judged rule. */
  readonly judgedRate: number;
  readonly judgeMs: number;
  readonly price: JudgePrice;
}

/** Resources of a load. Cores are busy cores of the measured machine. */
export interface Needs {
  readonly tracesPerSecond: number;
  readonly receiverCores: number;
  readonly insertCores: number;
  readonly codeCores: number;
  readonly judgedCores: number;
  /** Sum of the four. */
  readonly cores: number;
  /** Processes of each role, of which none is busier than `PLANNED_SHARE`. */
  readonly receivers: number;
  readonly scorers: number;
  readonly networkBytesPerSecond: number;
  readonly judgeBytesPerSecond: number;
  /** Bytes on disk after the days of the default retention: rows of spans, and rows of scores. */
  readonly spanBytes: number;
  readonly scoreBytes: number;
  readonly bytesPerDay: number;
  /** Judged scores, each with one call. */
  readonly callsPerSecond: number;
  /** Judge calls under way at the same time. */
  readonly places: number;
  readonly usdPerDay: number;
}

/** Time between the reply of a judge and the next question on its place: the mean of the rest of both floods beside the judge's time. */
const JUDGE_OVERHEAD_MS =
  (computeOverheadMs(200, FIGURES.judgedPerSecondAt200Ms.value) +
    computeOverheadMs(500, FIGURES.judgedPerSecondAt500Ms.value)) /
  2;

function computeOverheadMs(judgeMs: number, scoresPerSecond: number): number {
  return (FLOOD_PLACES * MS_PER_S) / scoresPerSecond - judgeMs;
}

/** Returns the cost of one judged score, USD. */
export function computeScoreUsd({ input, output }: JudgePrice): number {
  return (FIGURES.inputTokens.value * input + FIGURES.outputTokens.value * output) / PER_MILLION;
}

/** Returns the judged scores a second of so many places. Each is busy for the call, and for the time until the next question. */
export function computeJudgedPerSecond(places: number, judgeMs: number): number {
  return (places * MS_PER_S) / (judgeMs + JUDGE_OVERHEAD_MS);
}

/** Returns the resources of a load. All of them grow in proportion with the load. */
export function computeNeeds(load: Load): Needs {
  const { spansPerSecond, spansPerTrace, judgedRate, judgeMs, price } = load;
  const tracesPerSecond = spansPerSecond / spansPerTrace;
  const callsPerSecond = tracesPerSecond * judgedRate;
  return {
    tracesPerSecond,
    ...computeCores(spansPerSecond, callsPerSecond),
    networkBytesPerSecond: spansPerSecond * FIGURES.spanNetworkBytes.value,
    judgeBytesPerSecond:
      callsPerSecond * (FIGURES.inputTokens.value + FIGURES.outputTokens.value) * BYTES_PER_TOKEN,
    ...computeDisk(load),
    callsPerSecond,
    places: callsPerSecond / computeJudgedPerSecond(1, judgeMs),
    usdPerDay: callsPerSecond * computeScoreUsd(price) * SECONDS_PER_DAY,
  };
}

type Processors = Pick<
  Needs,
  'receiverCores' | 'insertCores' | 'codeCores' | 'judgedCores' | 'cores' | 'receivers' | 'scorers'
>;

function computeCores(spansPerSecond: number, callsPerSecond: number): Processors {
  const receiverCores = (spansPerSecond * FIGURES.receiveUs.value) / PER_MILLION;
  const insertCores = (spansPerSecond * FIGURES.insertUs.value) / PER_MILLION;
  // A scorer reads every span, so a trace of twice the spans costs about twice.
  const codeTraces = spansPerSecond / SPANS_OF_CODE_TRACE;
  const codeCores = (codeTraces * FIGURES.codeTraceMs.value) / MS_PER_S;
  const judgedCores = (callsPerSecond * FIGURES.judgedScoreMs.value) / MS_PER_S;
  const busyScorers =
    codeTraces / FIGURES.codeTracesPerSecond.value + callsPerSecond / FIGURES.judgedPerSecondAt200Ms.value;
  return {
    receiverCores,
    insertCores,
    codeCores,
    judgedCores,
    cores: receiverCores + insertCores + codeCores + judgedCores,
    receivers: Math.ceil(receiverCores / PLANNED_SHARE),
    scorers: Math.ceil(busyScorers / PLANNED_SHARE),
  };
}

function computeDisk({
  spansPerSecond,
  spansPerTrace,
  judgedRate,
}: Load): Pick<Needs, 'spanBytes' | 'scoreBytes' | 'bytesPerDay'> {
  const { spanDiskBytes, traceShortDiskBytes, traceLongDiskBytes, callDiskBytes } = FIGURES;
  const traces = (spansPerSecond / spansPerTrace) * SECONDS_PER_DAY;
  const shortPerDay =
    traces *
    (spansPerTrace * spanDiskBytes.value + traceShortDiskBytes.value + judgedRate * callDiskBytes.value);
  const longPerDay = traces * traceLongDiskBytes.value;
  return {
    spanBytes: shortPerDay * SHORT_DAYS,
    scoreBytes: longPerDay * LONG_DAYS,
    bytesPerDay: shortPerDay + longPerDay,
  };
}

/** Price of the examples, USD per million tokens. */
const EXAMPLE_PRICE: JudgePrice = { input: 0.25, output: 2 };

const SPANS_PER_TRACE = 8;
const JUDGED_RATE = 0.01;
const JUDGE_MS = 2_000;
const MILLION = 1e6;
const KILO = 1_000;

/** Loads of the tables, spans a second. */
const LOADS = [1_000, 10_000, 100_000];

/** Sample rates of the table of judges. */
const RATES = [0.001, 0.01, 0.1, 1];

/** Tables of docs/capacity.md by their names. */
const CAPACITY_TABLES: Readonly<Record<string, () => string>> = {
  figures: renderFigures,
  'a million spans': renderMillion,
  loads: renderLoads,
  judges: renderJudges,
};

/** Returns a page with its tables as they are now. Each stands between a comment with its name and `<!-- end -->`. */
export function fillTables(page: string): string {
  return page.replaceAll(/(<!-- table: ([\w ]+) -->\n)[^]*?(<!-- end -->)/g, (found, begin, name, end) => {
    const render = CAPACITY_TABLES[name];
    return render === undefined ? found : `${begin}\n${render()}\n\n${end}`;
  });
}

function buildLoad(spansPerSecond: number, judgedRate = JUDGED_RATE): Load {
  return {
    spansPerSecond,
    spansPerTrace: SPANS_PER_TRACE,
    judgedRate,
    judgeMs: JUDGE_MS,
    price: EXAMPLE_PRICE,
  };
}

function renderFigures(): string {
  const rows = Object.values<Figure>(FIGURES).map(({ value, unit, meaning, command }) => [
    meaning,
    `${count(value)} ${unit}`,
    `\`${command}\``,
  ]);
  return `${MACHINE}\n\n${renderTable([['figure', 'measured', 'measure again with'], ...rows])}`;
}

/** A million spans at once is the same as one second of a million spans a second. */
function renderMillion(): string {
  const needs = computeNeeds(buildLoad(MILLION));
  return renderTable([
    ['work', 'a million spans (125,000 traces of 8 spans)'],
    ['receive', `${shown(needs.receiverCores)} s of processor`],
    ['insert', `${shown(needs.insertCores)} s of processor`],
    ['three code scorers on every trace', `${shown(needs.codeCores)} s of processor`],
    ['a judged scorer on 1 % of the traces', `${shown(needs.judgedCores)} s of processor`],
    ['network to the receivers', bytes(needs.networkBytesPerSecond)],
    ['network to and from the judge', bytes(needs.judgeBytesPerSecond)],
    ['disk', bytes(needs.bytesPerDay / SECONDS_PER_DAY)],
    ['judge calls', count(needs.callsPerSecond)],
    ['cost of the judge', `${shown(needs.callsPerSecond * computeScoreUsd(EXAMPLE_PRICE))} USD`],
  ]);
}

function renderLoads(): string {
  const all = LOADS.map((load) => computeNeeds(buildLoad(load)));
  const line = (name: string, show: (needs: Needs) => string) => [name, ...all.map(show)];
  return renderTable([
    ['', ...LOADS.map((load) => `${count(load)} spans/s`)],
    line('traces a second', ({ tracesPerSecond }) => count(tracesPerSecond)),
    line('busy cores: receivers', ({ receiverCores }) => shown(receiverCores)),
    line('… store, inserts of spans', ({ insertCores }) => shown(insertCores)),
    line('… code scorers, with their part of the store', ({ codeCores }) => shown(codeCores)),
    line('… judged scorer on 1 %, with its part of the store', ({ judgedCores }) => shown(judgedCores)),
    line('… sum', ({ cores }) => shown(cores)),
    line('processes with the role `collector`', ({ receivers }) => count(receivers)),
    line('processes with the role `scorer`', ({ scorers }) => count(scorers)),
    line('network to the receivers, a second', ({ networkBytesPerSecond }) => bytes(networkBytesPerSecond)),
    line('disk, a day', ({ bytesPerDay }) => bytes(bytesPerDay)),
    line('disk, 30 days of spans', ({ spanBytes }) => bytes(spanBytes)),
    line('disk, 400 days of scores', ({ scoreBytes }) => bytes(scoreBytes)),
    line('judge calls a second', ({ callsPerSecond }) => shown(callsPerSecond)),
    line('cost of the judge, a day', ({ usdPerDay }) => `${shown(usdPerDay)} USD`),
  ]);
}

function renderJudges(): string {
  const rows = RATES.map((rate) => [
    `${count(100 * rate)} %`,
    ...LOADS.map((load) => {
      const { callsPerSecond, places, usdPerDay } = computeNeeds(buildLoad(load, rate));
      return `${shown(callsPerSecond)}; ${count(Math.ceil(places))}; ${shown(usdPerDay)} USD`;
    }),
  ]);
  return renderTable([
    [
      'calls a second; places; cost a day, with `sample.rate`',
      ...LOADS.map((load) => `${count(load)} spans/s`),
    ],
    ...rows,
  ]);
}

function renderTable([header = [], ...rows]: readonly (readonly string[])[]): string {
  const lines = [header, header.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Whole numbers from 100 on, else two digits: a plan has no more. */
function shown(value: number): string {
  return value >= 100 ? count(value) : String(Number(value.toPrecision(2)));
}

function count(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: value >= 100 ? 0 : 2 });
}

function bytes(value: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(value) / Math.log10(KILO)));
  return `${shown(value / KILO ** power)} ${units[power]}`;
}
