import { field, type Fields, firstField, readFields } from '../json.ts';
import { isRecord } from '../../domain/unknown-values.ts';
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
