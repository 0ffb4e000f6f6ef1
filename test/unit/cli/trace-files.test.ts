import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTraceSpool, type TraceSpool } from '../../../src/cli/trace-files.ts';
import type { Span } from '../../../src/domain/trace/span.ts';
import { buildSpan } from '../../support/builders/spans.ts';

let spool: TraceSpool;

beforeEach(() => {
  spool = openTraceSpool();
});

afterEach(() => {
  spool.close();
});

const A = 'a'.repeat(32);
const B = 'b'.repeat(32);
const partOf = (traceId: string, ...spans: Span[]) => ({ traceId, spans, logs: [] });

describe('a spool of traces', () => {
  it('joins the spans of a trace that come in parts, unchanged', () => {
    const first = buildSpan('root', { 'gen_ai.prompt': 'é'.repeat(3) }, { traceId: A });
    const second = buildSpan('child', { n: 1 }, { traceId: A, parent: 'root', at: 5, error: 'lost' });
    const other = buildSpan('other', {}, { traceId: B });

    spool.add([partOf(A, first), partOf(B, other)]);
    spool.add([partOf(A, second)]);

    expect(spool.count()).toBe(2);
    expect(spool.read(A)).toMatchObject({ traceId: A, spans: [first, second], logs: [] });
    expect(spool.find([A, B, 'c'.repeat(32)])).toEqual([
      { id: A, start: first.startUnixNano, end: second.startUnixNano + second.durationNano, failed: 1n },
      expect.objectContaining({ id: B, failed: 0n }),
    ]);
    expect(spool.read('c'.repeat(32))).toBeUndefined();
  });

  it('gives each trace once, in the order of their starts, and leaves out marked ones', () => {
    const starts = [5, 1, 4, 2, 3];
    const ids = starts.map((at) => String(at).repeat(32));
    spool.add(
      ids.map((traceId, index) => partOf(traceId, buildSpan('a', {}, { traceId, at: starts[index]! }))),
    );
    spool.mark(['4'.repeat(32)]);

    expect([spool.take(2), spool.take(2), spool.take(2)].map((taken) => taken.map((id) => id[0]))).toEqual([
      ['1', '2'],
      ['3', '5'],
      [],
    ]);
  });

  it('lists the traces that start in a range', () => {
    const spans = [0, 10, 20].map((at) =>
      buildSpan('a', {}, { traceId: String(at).repeat(16).slice(0, 32), at }),
    );
    spool.add(spans.map((span) => partOf(span.traceId, span)));
    const [first, second, third] = spans.map((span) => span.startUnixNano) as [bigint, bigint, bigint];
    const list = (from: bigint, to: bigint, limit = 9) =>
      spool
        .list({ fromMs: Number(from / 1_000_000n), toMs: Number(to / 1_000_000n), limit })
        .map(({ start }) => start);

    expect(list(first, third)).toEqual([first, second]);
    expect(list(first, third + 1_000_000n, 2)).toEqual([first, second]);
  });

  it('keeps any time of a span', () => {
    const span = { ...buildSpan('far', {}, { traceId: A }), startUnixNano: 2n ** 64n - 1n };

    spool.add([partOf(A, span)]);

    expect(spool.read(A)?.spans).toEqual([span]);
    expect(spool.take(1)).toEqual([A]);
  });
});
