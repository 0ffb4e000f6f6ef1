import type { Attributes } from '../../domain/trace/span.ts';
import { readCount, readText, rolesOf } from '../attributes.ts';
import { field, structureIn } from '../json.ts';
import { readMessages } from '../messages/read-messages.ts';
import type { Convention, NormalMessage, SpanFacts, SpanView } from '../normalised-span.ts';

/** Model calls with one attribute per message field (`gen_ai.prompt.3.role`): older OpenLLMetry, Koog and others. */
export const traceloopFlattened: Convention = { name: 'traceloop-flattened', detect, read };

const TYPE_ROLES = rolesOf({
  llm: 'chat completion',
  embedding: 'embedding',
  retriever: 'rerank',
});

const MESSAGE_KEY = /^gen_ai\.(prompt|completion)\.(\d{1,6})\.(.+)$/;

function detect({ span }: SpanView): boolean {
  for (const key of span.attributes.keys()) {
    if (key === 'llm.request.type' || MESSAGE_KEY.test(key)) {
      return true;
    }
  }
  return false;
}

function read({ span }: SpanView): SpanFacts {
  const { attributes } = span;
  const input = flattened(attributes, 'prompt');
  const output = flattened(attributes, 'completion');
  const type = TYPE_ROLES.get(attributes.get('llm.request.type') ?? '');
  return {
    role: type ?? (output.length > 0 ? 'llm' : undefined),
    input: input.length === 0 ? undefined : input,
    output: output.length === 0 ? undefined : output.flatMap((message) => message.parts),
    finishReason: readText(attributes, 'gen_ai.completion.0.finish_reason'),
    usage: { totalTokens: readCount(attributes, 'llm.usage.total_tokens') ?? null },
  };
}

function flattened(attributes: Attributes, list: 'prompt' | 'completion'): NormalMessage[] {
  const byIndex = new Map<number, Map<string, string>>();
  for (const key of attributes.keys()) {
    const match = MESSAGE_KEY.exec(key);
    const value = match?.[1] === list ? readText(attributes, key) : undefined;
    if (match !== null && value !== undefined) {
      const index = Number(match[2]);
      const fields = byIndex.get(index) ?? new Map<string, string>();
      byIndex.set(index, fields.set(match[3] ?? '', value));
    }
  }
  const inOrder = [...byIndex].sort(([a], [b]) => a - b).map(([, fields]) => fields);
  const defaultRole = list === 'prompt' ? 'user' : 'assistant';
  return inOrder.flatMap((fields) => toMessage(fields, defaultRole));
}

function toMessage(fields: ReadonlyMap<string, string>, defaultRole: 'user' | 'assistant'): NormalMessage[] {
  const content = fields.get('content');
  const blocks = structureIn(content);
  const asked = askedCalls(blocks);
  const role = asked === undefined ? (fields.get('role') ?? defaultRole) : 'assistant';
  const calls = asked ?? callsIn(fields);
  const message = {
    role,
    // An assistant that only called tools comes with the text "null".
    content:
      content === 'null' || asked !== undefined
        ? undefined
        : role !== 'tool' && Array.isArray(blocks)
          ? blocks
          : content,
    tool_calls: calls,
    tool_call_id: fields.get('tool_call_id'),
  };
  const reasoning = fields.get('reasoning');
  const messages = readMessages([message], defaultRole);
  return reasoning === undefined
    ? messages
    : [{ role: 'assistant', parts: [{ type: 'reasoning', text: reasoning }] }, ...messages];
}

/** Finds the calls that the model requested; Koog before 1.0 has them as the content of a tool's message. */
function askedCalls(blocks: unknown): unknown[] | undefined {
  const areCalls =
    Array.isArray(blocks) &&
    blocks.length > 0 &&
    blocks.every((block) => field(block, 'type') === 'function' && Object.hasOwn(block, 'function'));
  return areCalls ? (blocks as unknown[]) : undefined;
}

function callsIn(fields: ReadonlyMap<string, string>): Record<string, string>[] {
  const calls = new Map<number, Record<string, string>>();
  for (const [path, value] of fields) {
    const match = /^tool_calls\.(\d{1,6})\.(id|name|arguments)$/.exec(path);
    if (match !== null) {
      calls.set(Number(match[1]), { ...calls.get(Number(match[1])), [match[2] ?? '']: value });
    }
  }
  const legacy = fields.get('function_call.name');
  const all = [...calls].sort(([a], [b]) => a - b).map(([, call]) => call);
  return legacy === undefined
    ? all
    : [...all, { name: legacy, arguments: fields.get('function_call.arguments') ?? '{}' }];
}
