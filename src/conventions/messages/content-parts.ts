import { field, type Fields, firstField, parseIfText, readFields } from '../json.ts';
import {
  callPart,
  filePart,
  hasFailed,
  isTextOnly,
  type PartReader,
  type PartTable,
  plainText,
  reasoningPart,
  resultPart,
  textPart,
  unwrapBlock,
} from './part-reader.ts';
import type { ResultPart } from '../normalised-span.ts';
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

/** Content blocks of OpenAI's chat completions and responses. */
export const OPENAI_PARTS: PartTable = {
  input_text: (part) => textPart(field(part, 'text')),
  output_text: (part) => textPart(field(part, 'text')),
  refusal: (part) => textPart(firstField(part, 'refusal', 'text')),
  image_url: (part) => {
    const image = field(part, 'image_url');
    return filePart('image/*', isRecord(image) ? field(image, 'url') : image);
  },
  input_image: (part) => filePart('image/*', firstField(part, 'image_url', 'file_id')),
};

const anthropicCall =
  (provider: boolean): PartReader =>
  (block) => {
    const [id, name, args] = ['id', 'name', 'input'].map((key) => field(block, key));
    return [callPart({ id, name, args, provider })];
  };

const anthropicResult: PartReader = (block) => {
  const content = field(block, 'content');
  const result = (isTextOnly(content) ? plainText(content) : unwrapBlock(content)) ?? '';
  // The error of a server tool is `{type: 'web_search_tool_result_error', error_code}`.
  const failed = hasFailed(block) || String(field(content, 'type')).endsWith('_tool_result_error');
  return [resultPart({ id: field(block, 'tool_use_id'), result, failed })];
};

/** Blocks of Anthropic's Messages API. The provider runs server tools and tools of MCP servers. */
export const ANTHROPIC_PARTS: PartTable = {
  tool_use: anthropicCall(false),
  server_tool_use: anthropicCall(true),
  mcp_tool_use: anthropicCall(true),
  tool_result: anthropicResult,
  mcp_tool_result: anthropicResult,
  web_search_tool_result: anthropicResult,
  web_fetch_tool_result: anthropicResult,
  code_execution_tool_result: anthropicResult,
  bash_code_execution_tool_result: anthropicResult,
  text_editor_code_execution_tool_result: anthropicResult,
  tool_search_tool_result: anthropicResult,
  redacted_thinking: () => [],
};

/** Blocks of Bedrock's Converse (Strands, AgentCore) by their key; some emitters repeat it as `type`. */
export const BEDROCK_PARTS: PartTable = {
  toolUse: (block) => {
    const use = inner(block, 'toolUse');
    return [callPart({ id: field(use, 'toolUseId'), name: field(use, 'name'), args: field(use, 'input') })];
  },
  toolResult: (block) => {
    const held = inner(block, 'toolResult');
    const result = unwrapBlock(field(held, 'content'));
    return [resultPart({ id: field(held, 'toolUseId'), result, failed: field(held, 'status') === 'error' })];
  },
  reasoningContent: (block) => {
    const text = firstField(inner(block, 'reasoningContent'), 'reasoningText', 'text');
    return reasoningPart(isRecord(text) ? field(text, 'text') : text);
  },
  image: (block) => {
    const image = inner(block, 'image');
    const [source, format] = [field(image, 'source'), field(image, 'format')];
    const mime = typeof format === 'string' ? `image/${format}` : firstField(block, 'mediaType', 'mimeType');
    const data = isRecord(source) ? firstField(source, 'bytes', 'data') : field(block, 'image');
    return filePart(mime ?? 'image/*', data);
  },
};

function inner(block: Fields, key: string): Fields {
  const value = field(block, key);
  return isRecord(value) ? value : block;
}

/** Parts of Gemini's `contents` by the key that holds them. */
const GEMINI_READERS: PartTable = {
  functionCall: (held) => [
    callPart({ id: field(held, 'id'), name: field(held, 'name'), args: field(held, 'args') }),
  ],
  functionResponse: (held) => [
    resultPart({ id: field(held, 'id'), name: field(held, 'name'), result: field(held, 'response') }),
  ],
  inlineData: (held) => filePart(firstField(held, 'mimeType', 'mime_type'), field(held, 'data')),
  fileData: (held) =>
    filePart(firstField(held, 'mimeType', 'mime_type'), firstField(held, 'fileUri', 'file_uri', 'uri')),
};

/** Parts of Gemini; Python writes the keys in snake case, the others in camel case. */
export const GEMINI_PARTS: PartTable = {
  ...Object.fromEntries(
    Object.entries(GEMINI_READERS).flatMap(([camel, read]) => {
      const snake = camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      const reader: PartReader = (part) => read(readFields(firstField(part, camel, snake)));
      return [camel, snake].map((key) => [key, reader]);
    }),
  ),
  thought: (part) =>
    field(part, 'thought') === true ? reasoningPart(field(part, 'text')) : textPart(field(part, 'text')),
};

export const readCall: PartReader = (call) => [
  callPart({
    ...calledTool(call),
    args: firstField(call, 'input', 'args'),
    provider: field(call, 'providerExecuted') === true,
  }),
];

/** Parts of the AI SDK's prompt and model messages, versions 4 to 7. */
export const AI_SDK_PARTS: PartTable = {
  'tool-call': readCall,
  'tool-result': (part) => [toolResult(part)],
  'tool-error': (part) => [resultPart({ ...calledTool(part), result: field(part, 'error'), failed: true })],
  file: (part) =>
    filePart(
      firstField(part, 'mediaType', 'mimeType', 'mime_type', 'modality'),
      firstField(part, 'data', 'file_id', 'url', 'uri'),
    ),
  'redacted-reasoning': () => [],
  // Questions to a person and the answers: the calls without a result tell that the run waits.
  'tool-approval-request': () => [],
  'tool-approval-response': () => [],
};

function calledTool(part: Fields): { id: unknown; name: unknown } {
  return { id: field(part, 'toolCallId'), name: field(part, 'toolName') };
}

/** Reads a tool result: v4 has the bare `result`, later versions an `output` with a type that shows success or failure. */
function toolResult(part: Fields): ResultPart {
  const output = field(part, 'output');
  if (!isRecord(output) || typeof field(output, 'type') !== 'string') {
    const result = output ?? firstField(part, 'result');
    return resultPart({ ...calledTool(part), result, failed: hasFailed(part) });
  }
  const value = field(output, 'value');
  switch (field(output, 'type')) {
    case 'error-text':
    case 'error-json':
      return resultPart({ ...calledTool(part), result: value, failed: true });
    case 'execution-denied':
      return resultPart({ ...calledTool(part), result: field(output, 'reason'), denied: true });
    case 'text':
      return { ...resultPart({ ...calledTool(part), result: undefined }), result: value };
    default:
      return resultPart({ ...calledTool(part), result: value });
  }
}

/** Parts of Mastra's stored messages that other formats do not have. */
export const MASTRA_PARTS: PartTable = {
  'step-start': () => [],
  'tool-invocation': (part) => {
    const held = field(part, 'toolInvocation');
    if (!isRecord(held)) {
      return [];
    }
    const [id, name] = [field(held, 'toolCallId'), field(held, 'toolName')];
    const call = callPart({ id, name, args: firstField(held, 'args', 'rawInput') });
    switch (field(held, 'state')) {
      case 'result':
        return [call, resultPart({ id, name, result: field(held, 'result') })];
      case 'output-error': {
        return [call, resultPart({ id, name, result: field(held, 'errorText'), failed: true })];
      }
      case 'output-denied':
        return [call, resultPart({ id, name, result: undefined, denied: true })];
      default:
        return [call];
    }
  },
};
