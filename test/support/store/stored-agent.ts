import { randomBytes } from 'node:crypto';
import { decodeOtlpJson } from '../../../src/wire/otlp-json.ts';
import type { Span } from '../../../src/domain/trace/span.ts';
import { aLateToolSpan, anAgentTrace, exportRequest } from '../builders/agent-trace.ts';
import { spanBlock } from './store-rows.ts';
import type { Store } from '../../../src/store/store.ts';

/** Builds the spans of a whole agent run, with its tool call. */
export function agentRunSpans(traceId?: string, startMs?: number): Span[] {
  return decodeOtlpJson(anAgentTrace(traceId, startMs).request()).spans;
}

/** Builds a further tool result of a run, as a span that arrives late. */
export function lateToolSpan(traceId: string): Span {
  return decodeOtlpJson(exportRequest([aLateToolSpan(traceId)])).spans[0]!;
}

/** Stores spans in one insert. */
export async function store(to: Store, spans: readonly Span[], tenant = ''): Promise<void> {
  await to.sink.insert(spanBlock(spans, tenant), randomBytes(16).toString('hex'));
}
