/** Machine on which the figures were measured. */
export const MACHINE =
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
const DISK = 'npm run bench:disk';
const PROMPTS = 'npm run bench:prompts';

/** Figures from which the capacity is computed. A span has about 2.5 KB. */
export const FIGURES = {
  receiveUs: figure(23.5, 'µs of processor a span', 'receiver: OTLP/HTTP, protobuf with gzip', INGEST),
  insertUs: figure(41.5, 'µs of processor a span', 'store: the inserts of these spans', INGEST),
  codeTraceMs: figure(
    1.17,
    'ms of processor a trace',
    'three code scorers on a stored trace of 8 spans: scorer process and store',
    BACKFILL,
  ),
  codeTracesPerSecond: figure(
    1_071,
    'traces a second',
    'the same: one scorer process and its store',
    BACKFILL,
  ),
  judgedScoreMs: figure(
    9.4,
    'ms of processor a score',
    'a judged score: ingest of its 4 spans, scorer process and store',
    FLOOD,
  ),
  judgedPerSecondAt200Ms: figure(148, 'scores a second', 'one process, judge of 200 ms, 32 places', FLOOD),
  judgedPerSecondAt500Ms: figure(
    60.9,
    'scores a second',
    'one process, judge of 500 ms, 32 places',
    `${FLOOD} -- --judge-ms 500`,
  ),
  sweepS: figure(5, 's', 'start on 5,000 waiting traces, until the first is decided', 'npm run bench:steady'),
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
