import { isObject } from '../src/domain/unknown-values.ts';
import type { Log } from '../src/telemetry/log.ts';
import { holdWhileRead, type MemoryLease } from './memory-limiter.ts';
import type { ExportRequest, ExportResult } from './ingest.ts';
import type { CollectorLimits } from './limits.ts';
import { parseJson } from './otlp/json-body.ts';
import { LENGTH, ProtoReader } from './otlp/proto-reader.ts';

/** From a request with metrics to its data points: the fields of each level, in protobuf and in the two spellings of JSON. */
const LEVELS = [
  { fields: [1], names: ['resourceMetrics', 'resource_metrics'] },
  { fields: [2], names: ['scopeMetrics', 'scope_metrics'] },
  { fields: [2], names: ['metrics'] },
  {
    fields: [5, 7, 9, 10, 11],
    names: ['gauge', 'sum', 'histogram', 'exponentialHistogram', 'exponential_histogram', 'summary'],
  },
  { fields: [1], names: ['dataPoints', 'data_points'] },
] as const;

/** Reads a request with metrics and rejects its data points. Throws as `ingest` does for a body that it cannot read. */
export type DropMetrics = (
  request: Pick<ExportRequest, 'encoding' | 'body'>,
  lease: MemoryLease,
) => ExportResult;

/**
 * Creates the receiver of metrics, which stores nothing. Many agents send metrics to the address of their traces, and log each refused
 * request; so a request succeeds, and its reply names the rejected points. The log says it once.
 */
export function createDropMetrics(limits: CollectorLimits, log: Log): DropMetrics {
  let isLogged = false;
  return (request, lease) => {
    const rejected = holdWhileRead(request, lease, limits, () => countDataPoints(request));
    if (!isLogged) {
      isLogged = true;
      log.warn('a sender sends metrics; they are dropped, because spanscore stores no metrics');
    }
    const reasons = rejected === 0 ? [] : ['spanscore stores no metrics'];
    return { rejected, setAside: 0, purged: 0, reasons };
  };
}

function countDataPoints({ encoding, body }: Pick<ExportRequest, 'encoding' | 'body'>): number {
  if (body.length === 0) {
    return 0;
  }
  if (encoding === 'protobuf') {
    return countInProtobuf(new ProtoReader(body), body.length, 0);
  }
  const readLevel = (items: readonly unknown[], names: readonly string[]): unknown[] =>
    items.flatMap((item) => (isObject(item) ? names.flatMap((name) => item[name] ?? []) : []));
  return LEVELS.reduce<unknown[]>((items, { names }) => readLevel(items, names), [parseJson(body)]).length;
}

/** Counts the data points of a message, from the position of the reader to the end of the message. */
function countInProtobuf(reader: ProtoReader, messageEnd: number, depth: number): number {
  const fields: readonly number[] = LEVELS[depth]?.fields ?? [];
  let count = 0;
  while (reader.readTag(messageEnd)) {
    if (reader.wire !== LENGTH || !fields.includes(reader.field)) {
      reader.skip(messageEnd);
      continue;
    }
    reader.readRange(messageEnd);
    if (depth === LEVELS.length - 1) {
      count += 1;
    } else {
      const { start, end } = reader;
      reader.position = start;
      count += countInProtobuf(reader, end, depth + 1);
    }
  }
  return count;
}
