import { FIGURES } from './measured-figures.ts';

export const SECONDS_PER_DAY = 86_400;
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
export const PLANNED_SHARE = 0.6;

/** USD per million tokens. */
export interface JudgePrice {
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
export const JUDGE_OVERHEAD_MS =
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
