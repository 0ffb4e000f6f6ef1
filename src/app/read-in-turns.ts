import { setImmediate as pause } from 'node:timers/promises';
import PQueue from 'p-queue';
import { readTrace, readTraceInSlices } from '../conventions/index.ts';
import type { ReadingOptions, TraceReading } from '../domain/trace/agent-run.ts';
import type { TraceData } from '../domain/trace/span.ts';

/** Limits of spans, and of characters of attributes, above which a trace is read in slices. */
const MANY_SPANS = 200;
const MANY_CHARS = 1_000_000;

/**
 * Creates a reader of traces for a process that also receives. It reads large traces in slices, and other work runs between
 * the slices. It reads one large trace at a time, to need the memory only once.
 */
export function createTurnReader(): (
  data: TraceData,
  options?: ReadingOptions,
) => TraceReading | Promise<TraceReading> {
  const large = new PQueue({ concurrency: 1 });
  return (data, options) =>
    isLarge(data)
      ? large.add(() => readTraceInSlices(data, { nowMs: () => performance.now(), pause }, options))
      : readTrace(data, options);
}

function isLarge({ spans }: TraceData): boolean {
  if (spans.length > MANY_SPANS) {
    return true;
  }
  let chars = 0;
  for (const { attributes } of spans) {
    attributes.forEach((value) => (chars += value.length));
  }
  return chars > MANY_CHARS;
}
