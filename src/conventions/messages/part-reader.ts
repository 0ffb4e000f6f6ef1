import { isId } from '../attributes.ts';
import { field, type Fields, firstField, listIn, parseIfText, parseValue, readFields } from '../json.ts';
import type { CallPart, NormalPart, ResultPart } from '../normalised-span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Reads one typed content block; returns zero or more parts. */
type PartReader = (part: Fields) => NormalPart[];

/** Content blocks of one format by their `type`. */
type PartTable = Readonly<Record<string, PartReader>>;

/** Reads a text block; an empty one gives no part, also when it is JSON. */
export function textPart(value: unknown): NormalPart[] {
  const text = plainText(value);
  return text === '' || text === '""' ? [] : [{ type: 'text', text }];
}

export function reasoningPart(value: unknown): NormalPart[] {
  const text = plainText(value);
  return text === '' ? [] : [{ type: 'reasoning', text }];
}

/** Reads the text of a value: strings as they are, lists of text blocks joined, other values as JSON. */
export function plainText(value: unknown): string {
  if (value === undefined || value === null) {
    return '';
  }
  if (typeof value === 'string') {
    return value;
  }
  if (Array.isArray(value)) {
    const texts = value.map((item) => (isRecord(item) ? firstField(item, 'text', 'content') : item));
    return texts.every((text) => typeof text === 'string') ? texts.join('') : JSON.stringify(value);
  }
  return JSON.stringify(value);
}

const FINAL_ANSWER = '\nFinal Answer:';

/** Splits the text of a ReAct agent, as CrewAI prompts for it: thoughts, then `Final Answer:` and the answer. */
export function openFinalAnswer(part: NormalPart): NormalPart[] {
  const text = part.type === 'text' ? part.text.trim() : '';
  const at = text.startsWith('Thought:') ? text.lastIndexOf(FINAL_ANSWER) : -1;
  const answer = at < 0 ? '' : text.slice(at + FINAL_ANSWER.length).trim();
  const thought = text.slice('Thought:'.length, at).trim();
  return answer === '' ? [part] : [...reasoningPart(thought), ...textPart(answer)];
}

export function callPart(fields: {
  id: unknown;
  name: unknown;
  args: unknown;
  provider?: boolean;
}): CallPart {
  const { id, name, args, provider } = fields;
  return {
    type: 'tool-call',
    id: callId(id),
    name: typeof name === 'string' ? name : '',
    args: parseIfText(args),
    ...(provider === true ? { providerExecuted: true } : {}),
  };
}

/** Creates a result; a failed one has the text of its `result` as error. */
export function resultPart(fields: {
  id: unknown;
  name?: unknown;
  result: unknown;
  failed?: boolean;
  denied?: boolean;
}): ResultPart {
  const { id, name, denied, failed } = fields;
  const result = failed === true ? undefined : parseIfText(fields.result);
  const errorText = failed === true ? plainText(fields.result) || 'failed' : failureIn(result);
  return {
    type: 'tool-result',
    id: callId(id),
    name: typeof name === 'string' && name !== '' ? name : null,
    result,
    ...(errorText === undefined ? {} : { errorText }),
    ...(denied === true ? { denied } : {}),
  };
}

/** True when a result, block or message has the mark of a failed call: `isError` of the Model Context Protocol and of most formats. */
export function hasFailed(holder: unknown): boolean {
  const mark = firstField(holder, 'isError', 'is_error');
  return mark === true || mark === 'true';
}

/** Returns the text of a failed call, when the result says that it is one. Undefined for any other result. */
export function failureIn(result: unknown): string | undefined {
  return isRecord(result) && hasFailed(result)
    ? plainText(firstField(result, 'content', 'error', 'message', 'structuredContent')) || 'failed'
    : undefined;
}

/** True for blocks of text only; in a tool's message they are the result. */
export function isTextOnly(content: unknown): boolean {
  const blocks = listIn(content);
  return blocks.length > 0 && blocks.every((item) => field(item, 'type') === 'text');
}

/** Unwraps a result that is one block of text or JSON. */
export function unwrapBlock(value: unknown): unknown {
  const [block] = Array.isArray(value) && value.length === 1 ? (value as unknown[]) : [];
  const keys = isRecord(block) ? Object.keys(block).filter((key) => key !== 'type') : [];
  if (!isRecord(block) || keys.length !== 1) {
    return value;
  }
  const inner = firstField(block, 'json', 'text');
  return typeof inner === 'string' ? parseValue(inner) : (inner ?? value);
}

/** Reads a file by its media type (or modality) and its data: a URL, a data URL or base64. */
export function filePart(mediaType: unknown, data: unknown): NormalPart[] {
  const content = readBase64(data);
  if (content === undefined) {
    return [];
  }
  return [
    {
      type: 'file',
      mimeType: typeof mediaType === 'string' ? mediaType : 'application/octet-stream',
      data: content,
    },
  ];
}

/** Returns text as it is, and bytes in one of their JSON forms as base64. */
function readBase64(data: unknown): string | undefined {
  if (typeof data === 'string') {
    return data === '' ? undefined : data;
  }
  const bytes = isRecord(data) ? (firstField(data, 'data') ?? Object.values(data)) : data;
  const isBytes = Array.isArray(bytes) && bytes.length > 0 && bytes.every((item) => typeof item === 'number');
  return isBytes ? Buffer.from(bytes).toString('base64') : undefined;
}

/** Reads an id without the blanks that some emitters add. */
function callId(value: unknown): string | null {
  const id = typeof value === 'string' ? value.trim() : '';
  return isId(id) ? id : null;
}

/** Parts of the OpenTelemetry GenAI message schema, semantic conventions 1.37 and later. */
const OTEL_PARTS: PartTable = {
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
  const entries = isRecord(value) ? Object.entries(value).filter(([key]) => key !== 'type') : undefined;
  return entries === undefined ? value : Object.fromEntries(entries);
}

/** Content blocks of OpenAI's chat completions and responses. */
const OPENAI_PARTS: PartTable = {
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
  (block) => [callPart({ ...named(block), args: field(block, 'input'), provider })];

const anthropicResult: PartReader = (block) => {
  const content = field(block, 'content');
  const result = (isTextOnly(content) ? plainText(content) : unwrapBlock(content)) ?? '';
  // The error of a server tool is `{type: 'web_search_tool_result_error', error_code}`.
  const failed = hasFailed(block) || String(field(content, 'type')).endsWith('_tool_result_error');
  return [resultPart({ id: field(block, 'tool_use_id'), result, failed })];
};

/** Blocks of Anthropic's Messages API. The provider runs server tools and tools of MCP servers. */
const ANTHROPIC_PARTS: PartTable = {
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
const BEDROCK_PARTS: PartTable = {
  toolUse: (block) => {
    const use = heldUnder(block, 'toolUse');
    return [callPart({ id: field(use, 'toolUseId'), name: field(use, 'name'), args: field(use, 'input') })];
  },
  toolResult: (block) => {
    const held = heldUnder(block, 'toolResult');
    const result = unwrapBlock(field(held, 'content'));
    return [resultPart({ id: field(held, 'toolUseId'), result, failed: field(held, 'status') === 'error' })];
  },
  reasoningContent: (block) => {
    const text = firstField(heldUnder(block, 'reasoningContent'), 'reasoningText', 'text');
    return reasoningPart(isRecord(text) ? field(text, 'text') : text);
  },
  image: (block) => {
    const image = heldUnder(block, 'image');
    const [source, format] = [field(image, 'source'), field(image, 'format')];
    const mime = typeof format === 'string' ? `image/${format}` : firstField(block, 'mediaType', 'mimeType');
    const data = isRecord(source) ? firstField(source, 'bytes', 'data') : field(block, 'image');
    return filePart(mime ?? 'image/*', data);
  },
};

function heldUnder(block: Fields, key: string): Fields {
  const value = field(block, key);
  return isRecord(value) ? value : block;
}

/** Parts of Gemini's `contents` by the key that holds them. */
const GEMINI_READERS: PartTable = {
  functionCall: (held) => [callPart({ ...named(held), args: field(held, 'args') })],
  functionResponse: (held) => [resultPart({ ...named(held), result: field(held, 'response') })],
  inlineData: (held) => filePart(firstField(held, 'mimeType', 'mime_type'), field(held, 'data')),
  fileData: (held) =>
    filePart(firstField(held, 'mimeType', 'mime_type'), firstField(held, 'fileUri', 'file_uri', 'uri')),
};

/** Parts of Gemini; Python writes the keys in snake case, the others in camel case. */
const GEMINI_PARTS: PartTable = {
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
const AI_SDK_PARTS: PartTable = {
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
const MASTRA_PARTS: PartTable = {
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
      case 'output-error':
        return [call, resultPart({ id, name, result: field(held, 'errorText'), failed: true })];
      case 'output-denied':
        return [call, resultPart({ id, name, result: undefined, denied: true })];
      default:
        return [call];
    }
  },
};

/** Blocks of every format; real emitters mix them, so all are read everywhere. */
export const PARTS = new Map<string, PartReader>(
  [
    OTEL_PARTS,
    AI_SDK_PARTS,
    OPENAI_PARTS,
    ANTHROPIC_PARTS,
    BEDROCK_PARTS,
    GEMINI_PARTS,
    MASTRA_PARTS,
  ].flatMap((table) => Object.entries(table)),
);

/** Keys of blocks without a `type`. */
export const BLOCK_KEYS = new Set([...Object.keys(BEDROCK_PARTS), ...Object.keys(GEMINI_PARTS)]);
