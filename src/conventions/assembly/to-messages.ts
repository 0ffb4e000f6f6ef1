import { hashValue } from '../../domain/identity.ts';
import type { AgentMessage, MessagePart, ToolInvocation } from '../../domain/trace/messages.ts';
import type { NormalMessage, NormalPart } from '../normalised-span.ts';
import { type Call, CallIndex, createCall } from './call-index.ts';
import type { Block, Entry } from './transcript.ts';

/** Position of messages. Their ids are hashes of it, so reading the trace again gives the same ids. */
export interface MessagePlace {
  traceId: string;
  spanId: string;
  section: 'input' | 'remembered' | 'output';
  createdAt: Date;
}

/** Converts messages to the form that scorers read; calls, results and text of one assistant turn become one message. */
export function toMessages(messages: readonly NormalMessage[], place: MessagePlace): AgentMessage[] {
  const calls = new CallIndex();
  const turns: { role: AgentMessage['role']; entries: Entry[] }[] = [];
  for (const message of messages) {
    const role = message.role === 'tool' ? 'assistant' : message.role;
    const entries = message.parts.flatMap((part) => listEntries(part, calls));
    const last = turns.at(-1);
    if (role === 'assistant' && last?.role === 'assistant') {
      last.entries = last.entries.concat(entries);
    } else if (entries.length > 0) {
      turns.push({ role, entries });
    }
  }
  return turns.map((turn, index) => ({
    id: messageId(place, index),
    role: turn.role,
    createdAt: place.createdAt,
    content: buildContent(turn.entries.map(buildPart)),
  }));
}

function listEntries(part: NormalPart, calls: CallIndex): Entry[] {
  if (part.type === 'tool-call') {
    return [{ kind: 'call', call: calls.add(createCall(part)) }];
  }
  if (part.type !== 'tool-result') {
    return [{ kind: 'part', part }];
  }
  // A result whose call is nowhere in the trace tells nothing without a name.
  if (calls.settleNext(part) || part.name === null) {
    return [];
  }
  const call = createCall({ type: 'tool-call', id: part.id, name: part.name, args: null });
  calls.add(call);
  calls.settleNext(part);
  return [{ kind: 'call', call }];
}

/** Converts the run's output to one assistant message, with a `step-start` before each further model call. */
export function toOutput(
  blocks: readonly Block[],
  place: MessagePlace,
  metadata: Record<string, unknown>,
): AgentMessage[] {
  const parts: MessagePart[] = [];
  for (const block of blocks) {
    if (block.isModelCall && parts.length > 0) {
      parts.push({ type: 'step-start' });
    }
    for (const entry of block.entries) {
      parts.push(buildPart(entry));
    }
  }
  if (parts.length === 0) {
    return [];
  }
  const content = { ...buildContent(parts), metadata };
  return [{ id: messageId(place, 0), role: 'assistant', createdAt: place.createdAt, content }];
}

function messageId(place: MessagePlace, index: number): string {
  return hashValue([place.traceId, place.spanId, place.section, index]);
}

function buildContent(parts: MessagePart[]): AgentMessage['content'] {
  const text = joinFinalText(parts);
  const invocations = parts.flatMap((part) =>
    part.type === 'tool-invocation' && part.toolInvocation.state !== 'output-error'
      ? [part.toolInvocation]
      : [],
  );
  return {
    format: 2,
    parts,
    ...(text === '' ? {} : { content: text }),
    ...(invocations.length === 0 ? {} : { toolInvocations: invocations }),
  };
}

/** Joins the text after the last tool call or step; earlier text is not the answer. */
function joinFinalText(parts: readonly MessagePart[]): string {
  const segments: string[] = [''];
  for (const part of parts) {
    if (part.type === 'text') {
      segments.push(`${segments.pop() ?? ''}${part['text']}`);
    } else if (part.type === 'tool-invocation' || part.type === 'step-start') {
      segments.push('');
    }
  }
  return segments.findLast((segment) => segment !== '') ?? '';
}

function buildPart(entry: Entry): MessagePart {
  if (entry.kind === 'call') {
    const { asked, handoff, span, state } = entry.call;
    const errorType = state === 'error' ? span?.facts.error?.type : undefined;
    return {
      type: 'tool-invocation',
      toolInvocation: buildInvocation(entry.call),
      ...(asked.providerExecuted === true ? { providerExecuted: true } : {}),
      ...(handoff ? { handoff } : {}),
      ...(errorType ? { errorType } : {}),
    };
  }
  const { part } = entry;
  if (part.type === 'text') {
    return { type: 'text', text: part.text };
  }
  if (part.type === 'reasoning') {
    return { type: 'reasoning', reasoning: part.text, details: [{ type: 'text', text: part.text }] };
  }
  return part.type === 'file'
    ? { type: 'file', mimeType: part.mimeType, data: part.data }
    : { type: `data-${part.name}`, data: part.data };
}

function buildInvocation(call: Call): ToolInvocation {
  const base = {
    toolCallId: call.id ?? call.span?.span.spanId ?? '',
    toolName: call.name,
    args: call.args ?? {},
  };
  if (call.state === 'result') {
    return { ...base, state: 'result', result: call.result };
  }
  if (call.state === 'error') {
    return { ...base, state: 'output-error', errorText: call.errorText };
  }
  return { ...base, state: call.state === 'denied' ? 'output-denied' : 'call' };
}
