import type { TraceData } from '../../domain/trace/span.ts';

/** OpenTelemetry's member of the W3C tracestate, and its sub-key `th`: the threshold below which a sampler dropped traces. */
const THRESHOLD = /(?:^|,)[ \t]*ot=(?:[^,]*;)?th:([0-9a-f]{1,14})(?=[;, \t]|$)/;

/** Range of thresholds: 56 bits. */
const RANGE = 2n ** 56n;

/**
 * Reads the probability with which samplers before spanscore let a trace pass: from its root span, else from the first span that
 * tells it. Returns 1 when none does. A threshold that cannot be read is ignored.
 */
export function readUpstreamProbability({ spans }: Pick<TraceData, 'spans'>): number {
  const roots = spans.filter(({ parentSpanId }) => parentSpanId === '');
  for (const { traceState } of [...roots, ...spans]) {
    const threshold = THRESHOLD.exec(traceState)?.[1];
    if (threshold !== undefined) {
      return Number(RANGE - BigInt(`0x${threshold.padEnd(14, '0')}`)) / Number(RANGE);
    }
  }
  return 1;
}
