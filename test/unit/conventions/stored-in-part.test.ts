import { describe, expect, it } from 'vitest';
import { decodeTraces } from '../../../src/conventions/traces/decode-traces.ts';
import { readTogether, readTrace } from '../../../src/conventions/traces/read-traces.ts';
import { hasUsefulContent, STUB_MARK, buildStub } from '../../../src/conventions/kept-content.ts';
import type { TraceData } from '../../../src/domain/trace/span.ts';
import { listExpectations, recordedSpans } from '../../support/recordings/recorded-spans.ts';
import { chatSpan, computeSpanId, buildSpan, buildTrace } from '../../support/builders/spans.ts';
import { addForeignSpans } from '../../support/builders/foreign-spans.ts';

function stubbed(trace: TraceData): TraceData {
  return { ...trace, spans: trace.spans.map((span) => (hasUsefulContent(span) ? span : buildStub(span))) };
}

const CASES = (['spans', 'spans-multi', 'spans-spec'] as const).flatMap((folder) =>
  listExpectations(folder).map(([name]) => [folder, name] as const),
);

describe('spans of which only the place in the tree was kept', () => {
  it.each(CASES)(
    'change no reading of a recorded agent amid HTTP and database spans: %s/%s',
    (folder, name) => {
      const traces = decodeTraces(recordedSpans(folder, name)).traces.map(addForeignSpans);
      const kept = traces.map(stubbed);
      const spans = kept.flatMap((trace) => trace.spans);
      expect(spans.filter((span) => span.truncated?.includes(STUB_MARK)).length).toBeGreaterThan(
        traces.length,
      );
      expect(readTogether(kept)).toEqual(readTogether(traces));
    },
  );

  it('still tell who used the agent', () => {
    const root = buildSpan('GET /', { 'http.route': '/', 'session.id': 's1', 'enduser.id': 'u1' });
    const chat = chatSpan('chat', { input: 'hi', output: 'yo' }, { parent: 'GET /' });
    const [run] = readTrace(stubbed(buildTrace([root, chat]))).runs;
    expect(run).toMatchObject({ sessionId: 's1', userId: 'u1', warnings: [] });
  });
});

describe('a span that was cut when it was stored', () => {
  const chat = chatSpan('chat', { input: 'hi', output: 'yo' });

  it('warns in its run and names the cut part', () => {
    const cut = { ...chat, truncated: ['SpanAttributes.gen_ai.input.messages'] };
    expect(readTrace(buildTrace([cut])).runs[0]?.warnings).toEqual([
      {
        code: 'truncated',
        spanId: computeSpanId('chat'),
        detail: 'cut when it was stored: SpanAttributes.gen_ai.input.messages; raise ingest.limits',
      },
    ]);
  });

  it('is reported as cut when it is not understood', () => {
    const odd = {
      ...buildSpan('odd', { 'gen_ai.operation.name': 'levitate' }),
      truncated: ['SpanAttributes'],
    };
    expect(readTrace(buildTrace([odd])).notUnderstood[0]?.reason).toBe(
      'gen_ai.operation.name "levitate" is not a known operation; truncated when it was stored: SpanAttributes',
    );
  });
});
