import { type Fields, field } from '../json.ts';
import {
  callPart,
  hasFailed,
  type PartReader,
  type PartTable,
  plainText,
  resultPart,
  unwrapBlock,
} from './part-reader.ts';

const providerCall: PartReader = (block) => [readCall(block, true)];

function readCall(block: Fields, provider: boolean): ReturnType<typeof callPart> {
  return callPart({
    id: field(block, 'id'),
    name: field(block, 'name'),
    args: field(block, 'input'),
    provider,
  });
}

const result: PartReader = (block) => {
  const content = field(block, 'content');
  const value = isTextOnly(content) ? plainText(content) : unwrapBlock(content);
  return [
    resultPart({
      id: field(block, 'tool_use_id'),
      result: value ?? '',
      failed: hasFailed(block) || isErrorBlock(content),
    }),
  ];
};

/** Blocks of Anthropic's Messages API. The provider runs server tools and tools of MCP servers. */
export const ANTHROPIC_PARTS: PartTable = {
  tool_use: (block) => [readCall(block, false)],
  server_tool_use: providerCall,
  mcp_tool_use: providerCall,
  tool_result: result,
  mcp_tool_result: result,
  web_search_tool_result: result,
  web_fetch_tool_result: result,
  code_execution_tool_result: result,
  bash_code_execution_tool_result: result,
  text_editor_code_execution_tool_result: result,
  tool_search_tool_result: result,
  redacted_thinking: () => [],
};

function isTextOnly(content: unknown): boolean {
  return (
    Array.isArray(content) && content.length > 0 && content.every((item) => field(item, 'type') === 'text')
  );
}

/** True for the error of a server tool: `{type: 'web_search_tool_result_error', error_code}`. */
function isErrorBlock(content: unknown): boolean {
  const type = field(content, 'type');
  return typeof type === 'string' && type.endsWith('_tool_result_error');
}
