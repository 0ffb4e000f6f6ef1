import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../src/domain/errors.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Counter } from '../counts.ts';
import { holdWhileRead } from '../hold-while-read.ts';
import type { ExportRequest, TakeRequest } from '../ingest.ts';
import type { CollectorLimits } from '../limits.ts';
import type { MemoryLimiter } from '../memory-limiter.ts';
import type { Signal } from '../otlp/decode-request.ts';
import { createRejections } from '../otlp/decoded-request.ts';
import { CONTENT_TYPES } from '../otlp/reply.ts';
import { describeKafkaFault } from '../receivers/kafka/kafka-fault.ts';
import { CONTENT_TYPE_HEADER, SIGNAL_HEADER, TENANT_HEADER } from '../receivers/kafka/record-headers.ts';
import type { KafkaProducer, OutgoingRecord } from './kafka-producer.ts';
import { type ForwardRecord, RecordPacker } from './pack-records.ts';
import { frameJson, splitJson } from './split-json.ts';
import { frameProtobuf, splitProtobuf } from './split-protobuf.ts';

export interface ForwardDependencies {
  readonly producer: KafkaProducer;
  readonly topics: Readonly<Record<Signal, string>>;
  /** Largest value of a record, and of all records of one send. */
  readonly maxRecordBytes: number;
  readonly limiter: MemoryLimiter;
  readonly limits: CollectorLimits;
  readonly counter: Counter;
  readonly log: Log;
}

/** Factor of the largest body that a split request may reach, because heads are repeated for each trace. */
const MAX_GROWTH = 2;

/**
 * Sends requests to Kafka, split by trace, with the trace id as the key of its records. A request is answered once the
 * broker has all of its records. Without an acknowledgement in time, the sender gets a retryable error; the bytes count as
 * held until the send has ended.
 */
export function forwardRequests(deps: ForwardDependencies): TakeRequest {
  return async (request, lease) => {
    const { signal, body } = request;
    const { taken, records, rejections } = holdWhileRead(request, lease, deps.limits, () =>
      split(request, deps),
    );
    const bytes = records.reduce((sum, { value }) => sum + value.length, 0);
    const held = deps.limiter.lease();
    const startedMs = performance.now();
    try {
      held.hold(bytes);
      lease.free(body.length);
    } catch (error) {
      held.release();
      throw error;
    }
    const sending = sendAll(request, records, deps).finally(() => held.release());
    await withinPatience(sending, deps);
    deps.counter.measure('forward_ms', performance.now() - startedMs, {});
    deps.counter.add('forwarded_records', records.length);
    deps.counter.add(signal === 'traces' ? 'spans_accepted' : 'logs_accepted', taken);
    deps.counter.add(signal === 'traces' ? 'spans_rejected' : 'logs_rejected', rejections.count);
    return { rejected: rejections.count, setAside: 0, purged: 0, reasons: rejections.reasons };
  };
}

function split({ signal, encoding, body }: ExportRequest, { limits, maxRecordBytes }: ForwardDependencies) {
  const packer = new RecordPacker({ maxRecordBytes, maxTotalBytes: MAX_GROWTH * limits.maxBodyBytes });
  const rejections = createRejections();
  const context = { packer, rejections, maxRecords: limits.maxRecords };
  const taken = (encoding === 'json' ? splitJson : splitProtobuf)(signal, body, context);
  const records = packer.finish(encoding === 'json' ? frameJson(signal) : frameProtobuf);
  return { taken, records, rejections };
}

/**
 * Makes one send after the other. Each is small enough for one batch of a partition, because all of its records may go to
 * one partition.
 */
async function sendAll(
  { signal, encoding, origin }: ExportRequest,
  records: readonly ForwardRecord[],
  { producer, topics, maxRecordBytes }: ForwardDependencies,
): Promise<void> {
  const headers = {
    [SIGNAL_HEADER]: signal,
    [CONTENT_TYPE_HEADER]: CONTENT_TYPES[encoding],
    ...(origin.tenant === '' ? {} : { [TENANT_HEADER]: origin.tenant }),
  };
  for (const batch of splitIntoBatches(records, maxRecordBytes)) {
    await producer.send(
      topics[signal],
      batch.map((record): OutgoingRecord => ({ ...record, headers })),
    );
  }
}

/** Bytes of a record in a batch beside its value: key, headers, offsets. */
const RECORD_BYTES = 256;

function* splitIntoBatches(records: readonly ForwardRecord[], maxBytes: number): Generator<ForwardRecord[]> {
  let batch: ForwardRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    const size = record.value.length + RECORD_BYTES;
    if (batch.length > 0 && bytes + size > maxBytes) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(record);
    bytes += size;
  }
  if (batch.length > 0) {
    yield batch;
  }
}

/** Ends the wait before senders give up (after 10 s). A send under way may still arrive. */
async function withinPatience(
  sending: Promise<void>,
  { limits, counter, log }: ForwardDependencies,
): Promise<void> {
  const timer = new AbortController();
  try {
    await Promise.race([sending, timeOut(limits.patienceMs, timer.signal)]);
  } catch (error) {
    sending.catch((late: unknown) => log.debug('a send to Kafka failed', { error: late }));
    const fault = describeKafkaFault(error, 'forward.kafka');
    counter.add('forward_failures', 1, error instanceof AppError ? 'timeout' : 'refused');
    log.warn('a request could not be sent to Kafka; its sender keeps it', { ...fault });
    const why = fault.likely === undefined ? fault.said : `${fault.said}; ${fault.likely}`;
    throw new AppError(`Kafka did not take the request: ${why}`, {
      code: 'delivery_failed',
      stage: 'receive',
      retryable: true,
      retryAfterMs: limits.retryAfterMs,
      cause: error,
    });
  } finally {
    timer.abort();
  }
}

async function timeOut(ms: number, signal: AbortSignal): Promise<never> {
  await sleep(ms, undefined, { signal });
  throw new AppError(`no acknowledgement within ${ms} ms`, {
    code: 'delivery_failed',
    stage: 'receive',
    retryable: true,
  });
}
