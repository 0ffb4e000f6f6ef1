import { readTrace, readTraces } from '../../../../src/conventions/index.ts';
import type { AgentRun } from '../../../../src/domain/trace/agent-run.ts';
import type { LogRecord, Span } from '../../../../src/domain/trace/span.ts';
import { answerText, invocationParts } from '../facts.ts';
import { recordedSpans } from '../recorded-spans.ts';
import {
  agentSpan,
  chatSpan,
  chatMessage,
  type SpanOptions,
  toolCall,
  toolResponse,
  toolSpan,
  buildTrace,
} from '../../builders/spans.ts';

export const QUESTION = chatMessage('user', 'Weather?');
export const CALL = chatMessage('assistant', toolCall('1', 'get', { a: 1 }));
export const RESULT = chatMessage('tool', toolResponse('1', { ok: true }));
export const ANSWER = chatMessage('assistant', 'Rain.');

export function listRuns(spans: Span[], logs: LogRecord[] = []): AgentRun[] {
  return readTrace(buildTrace(spans, logs)).runs;
}

export function recorded(name: string, folder: 'spans' | 'spans-multi' = 'spans'): AgentRun[] {
  return readTraces(recordedSpans(folder, name)).flatMap(({ runs }) => runs);
}

/** Lists the tool calls of these runs: name, arguments and outcome. */
export function listCalls(runs: readonly AgentRun[]): unknown[] {
  return runs
    .flatMap((run) => invocationParts(run.output))
    .map(({ toolInvocation: call }) => [
      call.toolName,
      call.args,
      call.result ?? call.errorText ?? call.state,
    ]);
}

export function listAnswers(runs: readonly AgentRun[]): string[] {
  return runs.map(answerText);
}

/** Builds a run of two model calls with a tool span between them. `parent` is the parent of the tool span. */
export function around(parent: string, ...more: Span[]): Span[] {
  return [
    agentSpan('agent', {}, { lasts: 100 }),
    chatSpan('c1', { input: [QUESTION], output: [CALL] }, { parent: 'agent', at: 1, lasts: 30 }),
    toolSpan('t', { id: '1', name: 'get', args: { a: 1 }, result: { ok: true } }, { parent, at: 20 }),
    chatSpan('c2', { input: [QUESTION, CALL, RESULT], output: [ANSWER] }, { parent: 'agent', at: 40 }),
    ...more,
  ];
}

export function chats(...outputs: [input: unknown[], output: unknown[]][]): Span[] {
  return [
    agentSpan('agent', {}, { lasts: 100 }),
    ...outputs.map(([input, output], i) =>
      chatSpan(`c${i}`, { input, output }, { parent: 'agent', at: 1 + i * 20 }),
    ),
  ];
}

export function tool(call: Parameters<typeof toolSpan>[1], options: SpanOptions = {}): Span {
  return toolSpan('t', call, { parent: 'agent', at: 10, ...options });
}

export const GET = ['get', { a: 1 }, { ok: true }];
