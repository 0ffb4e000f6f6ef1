import { requestBytes } from '../builders/otlp-proto-writer.ts';
import { attribute, jsonSpan, traceRequest } from '../builders/otlp-requests.ts';

/** The roads of spans. */
export const ROADS = ['http', 'grpc', 'kafka'] as const;
export type Road = (typeof ROADS)[number];

/** Number of spans in a request. Each request is one trace. */
export const SPANS_PER_REQUEST = 10;

const FILLER = 'It is 18 degrees in Paris, and it rains. '.repeat(8);
const NUMBER_KEY = 'test.number';

/** Position of a record in its topic. */
export interface RecordPlace {
  readonly partition: number;
  readonly offset: number;
}

/**
 * Numbers the requests of each road without gaps and records which were acknowledged. Comparing the ledger with the store
 * shows lost and unexpected requests.
 */
export class RequestLedger {
  readonly #begun = new Map<Road, number>();
  readonly #acknowledged = new Map<Road, Set<number>>(ROADS.map((road) => [road, new Set()]));
  readonly #places = new Map<number, RecordPlace>();

  /** Returns the number of a new request. */
  begin(road: Road): number {
    const number = this.begun(road);
    this.#begun.set(road, number + 1);
    return number;
  }

  /** Records that the sender got the answer that the whole request is stored. */
  acknowledge(road: Road, number: number): void {
    this.#acknowledged.get(road)?.add(number);
  }

  /** Records the position of a request in Kafka. */
  place(number: number, place: RecordPlace): void {
    this.#places.set(number, place);
  }

  begun(road: Road): number {
    return this.#begun.get(road) ?? 0;
  }

  acknowledged(road: Road): ReadonlySet<number> {
    return this.#acknowledged.get(road) ?? new Set();
  }

  get places(): ReadonlyMap<number, RecordPlace> {
    return this.#places;
  }

  /** Yields the trace ids of all acknowledged requests. */
  *acknowledgedTraces(): Generator<string> {
    for (const road of ROADS) {
      for (const number of this.acknowledged(road)) {
        yield computeTraceId(road, number);
      }
    }
  }

  /** Returns true for the trace id of a request that was sent. */
  knows(traceId: string): boolean {
    const road = findRoad(traceId);
    return road !== undefined && parseNumber(traceId) < this.begun(road);
  }
}

/** Returns the trace id of a request: its road, then its number. */
function computeTraceId(road: Road, number: number): string {
  return (ROADS.indexOf(road) + 1).toString(16).padStart(8, '0') + number.toString(16).padStart(24, '0');
}

export function findRoad(traceId: string): Road | undefined {
  return ROADS[Number.parseInt(traceId.slice(0, 8), 16) - 1];
}

export function parseNumber(traceId: string): number {
  return Number.parseInt(traceId.slice(8), 16);
}

function computeSpanId(number: number, index: number): string {
  return (number * SPANS_PER_REQUEST + index + 1).toString(16).padStart(16, '0');
}

/** Lists the span ids of a request, in order. */
export function listSpanIds(number: number): string[] {
  return Array.from({ length: SPANS_PER_REQUEST }, (_, index) => computeSpanId(number, index));
}

/** Encodes a request as protobuf. The same number always gives the same bytes. */
export function numberedRequest(road: Road, number: number): Buffer {
  const spans = listSpanIds(number).map((spanId) =>
    jsonSpan({
      traceId: computeTraceId(road, number),
      spanId,
      attributes: [attribute(NUMBER_KEY, String(number)), attribute('gen_ai.output.messages', FILLER)],
    }),
  );
  return requestBytes(traceRequest(spans));
}
