import { field, type Fields, firstField, parseIfText } from '../json.ts';
import {
  callPart,
  filePart,
  hasFailed,
  type PartTable,
  reasoningPart,
  resultPart,
  textPart,
  unwrapBlock,
} from './part-reader.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Parts of the OpenTelemetry GenAI message schema, semantic conventions 1.37 and later. */
export const OTEL_PARTS: PartTable = {
  text: (part) => textPart(firstField(part, 'content', 'text')),
  reasoning: (part) => reasoningPart(firstField(part, 'content', 'text', 'reasoning')),
  thinking: (part) => reasoningPart(firstField(part, 'content', 'thinking', 'text')),
  // As .NET wrote it before the schema had reasoning.
  'Microsoft.Extensions.AI.TextReasoningContent': (part) => {
    const content = field(part, 'content');
    return reasoningPart(isRecord(content) ? field(content, 'text') : content);
  },
  tool_call: (part) => [callPart({ ...named(part), args: firstField(part, 'arguments', 'args', 'input') })],
  tool_call_response: (part) => {
    const result = unwrapBlock(parseIfText(firstField(part, 'response', 'result', 'content', 'output')));
    // The AI SDK says so when a person refused the call.
    const denied = field(result, 'denied') === true;
    return [resultPart({ ...named(part), result, denied, failed: hasFailed(part) })];
  },
  server_tool_call: (part) => {
    const payload = firstField(part, 'server_tool_call', 'arguments');
    const args = isOfMcp(payload) ? (field(payload, 'arguments') ?? {}) : withoutType(payload);
    const call = callPart({ ...named(part), args, provider: true });
    return isApproval(payload) ? [] : [call];
  },
  server_tool_call_response: (part) => {
    const payload = firstField(part, 'server_tool_call_response', 'response');
    const result = isOfMcp(payload) ? firstField(payload, 'output', 'error') : withoutType(payload);
    const failed =
      hasFailed(part) ||
      hasFailed(payload) ||
      (isOfMcp(payload) && field(payload, 'output') === undefined && field(payload, 'error') !== undefined);
    const text = isOfMcp(payload) ? textOfBlocks(result) : result;
    return isApproval(payload) ? [] : [resultPart({ ...named(part), result: text, failed })];
  },
  blob: (part) => filePart(firstField(part, 'mime_type', 'modality'), firstField(part, 'content', 'data')),
  uri: (part) => filePart(firstField(part, 'mime_type', 'modality'), field(part, 'uri')),
  compaction: (part) => [{ type: 'data', name: 'compaction', data: firstField(part, 'content') ?? null }],
};

function named(part: Fields): { id: unknown; name: unknown } {
  return { id: field(part, 'id'), name: field(part, 'name') };
}

function isOfMcp(payload: unknown): payload is Fields {
  return field(payload, 'type') === 'mcp';
}

/** True for a request for an approval and for the reply to it: nothing ran yet. */
export function isApproval(payload: unknown): boolean {
  const type = field(payload, 'type');
  return typeof type === 'string' && /_approval_(request|response)$/.test(type);
}

/** Joins the texts of blocks; a value with any other block stays as it is. */
function textOfBlocks(value: unknown): unknown {
  const texts = Array.isArray(value)
    ? value.map((block) => (isRecord(block) ? field(block, 'text') : block))
    : [];
  return texts.length > 0 && texts.every((text) => typeof text === 'string') ? texts.join('\n') : value;
}

/** The payload of a server tool without its discriminator; a value that is no object as it is. */
function withoutType(value: unknown): unknown {
  if (!isRecord(value)) {
    return value;
  }
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== 'type'));
}
