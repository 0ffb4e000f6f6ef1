import type { Span } from '../../../src/domain/trace/span.ts';
import { joinTraces, MAX_PIECE_SPANS, pieceOf, readTrace } from '../../../src/conventions/index.ts';
import type { Scoring, ScoringStores } from '../../../src/scoring/scoring.ts';
import { createScoring } from '../scoring/bare-scoring.ts';
import type { TraceJoiner } from '../../../src/scoring/read/sibling-traces.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import { buildSpan } from './spans.ts';

const TOKENS = { 'gen_ai.usage.input_tokens': '10', 'gen_ai.usage.output_tokens': '2' };

function text(role: string, content: string): unknown {
  return { role, parts: [{ type: 'text', content }] };
}

/**
 * Builds the pieces of one run, each as a trace of its own: two model calls, the tool call between them, and a step around
 * all.
 */
export function buildPieces(question: string, options: { atMs?: number; callId?: string } = {}) {
  const { atMs = 0, callId = `call ${question}` } = options;
  const call = { role: 'assistant', parts: [{ type: 'tool_call', id: callId, name: 'get', arguments: {} }] };
  const result = { role: 'tool', parts: [{ type: 'tool_call_response', id: callId, response: 'rain' }] };
  const chat = (name: string, at: number, input: unknown[], output: unknown): Span =>
    piece(`${name} ${question}`, atMs + at, 5, {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'm',
      'gen_ai.input.messages': input,
      'gen_ai.output.messages': [output],
      ...TOKENS,
    });
  return {
    asks: chat('asks', 0, [text('user', question)], call),
    tool: piece(`tool ${question}`, atMs + 10, 5, {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'get',
      'gen_ai.tool.call.id': callId,
      'gen_ai.tool.call.result': 'rain',
    }),
    answers: chat('answers', 20, [text('user', question), call, result], text('assistant', 'It rains.')),
    step: piece(`step ${question}`, atMs - 1, 30, {
      'traceloop.span.kind': 'task',
      'traceloop.entity.name': 'agent',
      'traceloop.entity.input': { messages: [{ role: 'user', content: question }] },
      'traceloop.entity.output': 'It rains.',
    }),
  };
}

function piece(name: string, at: number, lasts: number, attributes: Record<string, unknown>): Span {
  const span = buildSpan(name, attributes, { at, lasts });
  return { ...span, traceId: span.spanId.repeat(2) };
}

/** Joins pieces of runs as scoring does. */
const joiner: TraceJoiner = { maxPieceSpans: MAX_PIECE_SPANS, readPiece: pieceOf, join: joinTraces };

/** Creates a scoring that reads all conventions and joins pieces. */
export function createJoiningScoring(
  stores: ScoringStores,
  options: { decisionWaitMs?: number; monotonicMs?: () => number } = {},
): Scoring {
  const { monotonicMs = () => performance.now(), ...limits } = options;
  return createScoring({ stores, readTrace, joiner, log: silentLog, monotonicMs, random: () => 0 }, limits);
}
