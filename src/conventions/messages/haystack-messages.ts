import { field, type Fields, firstField, recordsIn, listIn } from '../json.ts';
import type { SpanFacts } from '../normalised-span.ts';
import { parsePythonRepr, REPR_TYPE } from '../python-repr.ts';
import { plainText } from './part-reader.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/**
 * Converts Haystack's chat messages to the common shape: from JSON (`role`, `content`), from older JSON (`_role`, `_content`),
 * or from Python's printed form (`ChatMessage(_role=…, _content=[TextContent(text=…)])`). Any other entry is left out.
 */
export function commonMessages(list: unknown): Fields[] {
  return listIn(list).flatMap((item: unknown) => {
    const message = typeof item === 'string' && item.includes('(') ? parsePythonRepr(item) : item;
    if (!isRecord(message)) {
      return [];
    }
    const role = textOrUndefined(firstField(message, 'role', '_role'));
    const content = firstField(message, 'content', '_content');
    const blocks = Array.isArray(content) ? content.filter(isRecord).map(toBlock) : content;
    return role === undefined ? [] : [{ role, content: blocks, meta: firstField(message, 'meta', '_meta') }];
  });
}

/** Converts one block to `otel-genai`. JSON names a block by its key, Python by its class. */
function toBlock(block: Fields): Fields {
  const call = readBlockField(block, 'tool_call', 'ToolCall');
  if (call !== undefined) {
    const [id, name] = [field(call, 'id'), field(call, 'tool_name')];
    return { type: 'tool_call', id, name, arguments: field(call, 'arguments') };
  }
  const outcome = readBlockField(block, 'tool_call_result', 'ToolCallResult');
  if (outcome !== undefined) {
    const origin = readOrigin(outcome);
    const result = openPrinted(field(outcome, 'result'));
    return field(outcome, 'error') === true
      ? {
          type: 'tool-error',
          toolCallId: field(origin, 'id'),
          toolName: field(origin, 'tool_name'),
          error: result,
        }
      : {
          type: 'tool_call_response',
          id: field(origin, 'id'),
          name: field(origin, 'tool_name'),
          response: result,
        };
  }
  const reasoning = readBlockField(block, 'reasoning', 'ReasoningContent');
  return reasoning === undefined
    ? { type: 'text', text: firstField(block, 'text') }
    : { type: 'reasoning', content: firstField(reasoning, 'reasoning_text', 'text') };
}

function readBlockField(block: Fields, key: string, className: string): Fields | undefined {
  const value = field(block, REPR_TYPE) === className ? block : field(block, key);
  return isRecord(value) ? value : undefined;
}

function readOrigin(outcome: Fields): Fields {
  const origin = field(outcome, 'origin');
  return isRecord(origin) ? origin : {};
}

/** Parses a result. Results other than text were printed by Python; a text that only looks like that stays a text. */
function openPrinted(result: unknown): unknown {
  const isPrinted = typeof result === 'string' && /^\s*[[{(]/.test(result);
  const value = isPrinted ? parsePythonRepr(result) : undefined;
  return typeof value === 'object' && value !== null ? value : result;
}

/** Reads results of tools, one entry per call, as facts of a tool span. */
export function answersIn(messages: readonly Fields[]): SpanFacts[] {
  const blocks = messages.flatMap((message) => {
    const content = field(message, 'content');
    return recordsIn(content);
  });
  return blocks.flatMap((block): SpanFacts[] => {
    if (field(block, 'type') === 'tool-error') {
      const [toolCallId, toolName] = [field(block, 'toolCallId'), field(block, 'toolName')].map(
        textOrUndefined,
      );
      return [{ toolCallId, toolName, error: { type: null, message: plainText(field(block, 'error')) } }];
    }
    const [toolCallId, toolName] = [field(block, 'id'), field(block, 'name')].map(textOrUndefined);
    const isAnswer = field(block, 'type') === 'tool_call_response';
    return isAnswer ? [{ toolCallId, toolName, toolResult: field(block, 'response') }] : [];
  });
}

/** Reads model and usage from the `meta` of replies; usage is summed. */
export function replyMeta(messages: readonly Fields[]): SpanFacts {
  const metas = messages.map((message) => field(message, 'meta')).filter(isRecord);
  const described = metas.filter(
    (meta) => field(meta, 'model') !== undefined || isRecord(field(meta, 'usage')),
  );
  const sum = (...names: string[]): number | null => {
    const counts = described.flatMap((meta) => {
      const usage = field(meta, 'usage');
      const count = firstField(usage, ...names);
      return typeof count === 'number' && count >= 0 ? [count] : [];
    });
    return counts.length === 0 ? null : counts.reduce((total, count) => total + count, 0);
  };
  const last = described.at(-1) ?? {};
  return {
    model: textOrUndefined(field(last, 'model')),
    finishReason: textOrUndefined(field(last, 'finish_reason')),
    usage: {
      inputTokens: sum('prompt_tokens', 'input_tokens'),
      outputTokens: sum('completion_tokens', 'output_tokens'),
      totalTokens: sum('total_tokens'),
    },
  };
}
