import { openStore } from '../../../src/store/store.ts';
import { type ClickHouseAddress, queryRows } from '../store/clickhouse-query.ts';
import {
  parseNumber,
  type RequestLedger,
  findRoad,
  SPANS_PER_REQUEST,
  listSpanIds,
} from './request-ledger.ts';

/** Comparison of a ledger with a store. */
export interface StoredRequests {
  readonly spansAcknowledged: number;
  /** Acknowledged requests with a span that is not in the store. */
  readonly lost: readonly string[];
  /** Acknowledged requests with a repeated or unknown span. */
  readonly wrong: readonly string[];
  /** Traces that no sender sent. */
  readonly strange: readonly string[];
  /**
   * Number of repeated span rows by road. A sender without an answer sends its request again. Readers never return these
   * rows.
   */
  readonly repeatedRows: Readonly<Record<string, number>>;
}

const TRACES_PER_READ = 200;

/** Reads all requests in the way scoring reads them, and compares them with the ledger. */
export async function compareStored(
  address: ClickHouseAddress,
  ledger: RequestLedger,
): Promise<StoredRequests> {
  const acknowledged = [...ledger.acknowledgedTraces()];
  const stored = await readSpanIds(address, acknowledged);
  const lost: string[] = [];
  const wrong: string[] = [];
  for (const traceId of acknowledged) {
    const expected = listSpanIds(parseNumber(traceId));
    const read = stored.get(traceId) ?? [];
    if (!expected.every((spanId) => read.includes(spanId))) {
      lost.push(traceId);
    } else if (read.length !== expected.length) {
      wrong.push(traceId);
    }
  }
  const rows = await rowsByTrace(address);
  const repeatedRows: Record<string, number> = {};
  for (const { TraceId, all, distinct } of rows) {
    const road = findRoad(TraceId) ?? 'none';
    repeatedRows[road] = (repeatedRows[road] ?? 0) + Number(all) - Number(distinct);
  }
  return {
    spansAcknowledged: acknowledged.length * SPANS_PER_REQUEST,
    lost,
    wrong,
    strange: rows.map(({ TraceId }) => TraceId).filter((traceId) => !ledger.knows(traceId)),
    repeatedRows,
  };
}

/** Reads the span ids of traces in the way scoring reads spans. A trace without spans is absent. */
export async function readSpanIds(
  address: ClickHouseAddress,
  traceIds: readonly string[],
): Promise<Map<string, string[]>> {
  const retention = { spansDays: 30, scoresDays: 400 };
  const store = await openStore({ ...address, retention, migrate: false });
  const read = new Map<string, string[]>();
  try {
    for (let from = 0; from < traceIds.length; from += TRACES_PER_READ) {
      const slice = traceIds.slice(from, from + TRACES_PER_READ);
      const found = await store.spans.read(slice.map((traceId) => ({ tenant: '', traceId })));
      for (const { traceId, spans } of found.values()) {
        read.set(traceId, spans.map(({ spanId }) => spanId).sort());
      }
    }
  } finally {
    await store.close();
  }
  return read;
}

async function rowsByTrace(
  address: ClickHouseAddress,
): Promise<{ TraceId: string; all: string; distinct: string }[]> {
  return queryRows(
    address,
    'SELECT TraceId, count() AS all, uniqExact(SpanId) AS distinct FROM otel_traces GROUP BY TraceId',
  );
}

/**
 * Lists the Kafka records below a committed offset whose rows are not all in the store; there must be none. Exact while no
 * consumer runs. While one runs, read the offsets before.
 */
export async function committedUnwritten(
  address: ClickHouseAddress,
  ledger: RequestLedger,
  committed: readonly number[],
): Promise<number[]> {
  const written = await writtenKafkaRequests(address);
  return [...ledger.places]
    .filter(([, { partition, offset }]) => offset < (committed[partition] ?? 0))
    .map(([number]) => number)
    .filter((number) => !written.has(number));
}

/** Returns the numbers of the requests over Kafka that are stored completely. */
export async function writtenKafkaRequests(address: ClickHouseAddress): Promise<ReadonlySet<number>> {
  const rows = await rowsByTrace(address);
  return new Set(
    rows
      .filter(
        ({ TraceId, distinct }) => findRoad(TraceId) === 'kafka' && Number(distinct) === SPANS_PER_REQUEST,
      )
      .map(({ TraceId }) => parseNumber(TraceId)),
  );
}
