import { randomBytes } from 'node:crypto';
import { decodeOtlpJson } from '../../../src/wire/otlp-json.ts';
import type { Span } from '../../../src/domain/span.ts';
import { AgentTraceBuilder, anAgentTrace, exportRequest } from '../builders/agent-trace.ts';
import { spanBlock } from './store-rows.ts';
import type { Store } from '../../../src/store/contracts/store.ts';

/** Builds the spans of a whole agent run, with its tool call. */
export function agentRunSpans(traceId?: string, startMs?: number): Span[] {
  return decodeOtlpJson(anAgentTrace(traceId, startMs).request()).spans;
}

/** Builds a further tool result of a run, as a span that arrives late. */
export function lateToolSpan(traceId: string): Span {
  const builder = new AgentTraceBuilder(traceId).with({ name: 'get_wind', args: {}, result: { kmh: 90 } });
  const tool = builder.spans().find((span) => span.name.startsWith('execute_tool'))!;
  const attributes = tool.attributes.map((each) =>
    each.key === 'gen_ai.tool.call.id' ? { ...each, value: { stringValue: 'call_late' } } : each,
  );
  const late = { ...tool, spanId: randomBytes(8).toString('hex'), attributes };
  return decodeOtlpJson(exportRequest([late])).spans[0]!;
}

/** Stores spans in one insert. */
export async function store(to: Store, spans: readonly Span[], tenant = ''): Promise<void> {
  await to.sink.insert(spanBlock(spans, tenant), randomBytes(16).toString('hex'));
}
