import { isRecord } from '../domain/unknown-values.ts';
import type { ModelReply } from './model-call.ts';

/** Tokens of one text of a reply: two long sentences. */
const TEXT_TOKENS = 250;
/** Tokens of any other value, and of a name with its signs. */
const WORD_TOKENS = 8;
/** Tokens of a reply that is a text. */
const WHOLE_TEXT_TOKENS = 700;
/** Bytes of a prompt for each item of a list in the reply: lists name the sentences of the prompt, which are rarely shorter. */
const BYTES_PER_ITEM = 120;
const ITEMS = { least: 5, most: 100 };
/** Room above what a reply needs at most. */
const ROOM = 3;
const LIMITS = { least: 500, most: 8_192 };

/** Tokens that a model may think beside its reply. */
const THINKING_TOKENS = 16_000;

/**
 * Finds the most tokens that a reply may have: three times what its form needs, at least 500 and at most 8,192. So a model that repeats
 * itself ends, and no useful reply is cut.
 * @param schema JSON Schema of the reply; undefined for a text
 */
export function findOutputLimit(schema: object | undefined, promptBytes: number): number {
  const items = Math.min(ITEMS.most, Math.max(ITEMS.least, Math.ceil(promptBytes / BYTES_PER_ITEM)));
  const need = schema === undefined ? WHOLE_TEXT_TOKENS : countTokens(schema, items);
  return Math.min(LIMITS.most, Math.max(LIMITS.least, need * ROOM));
}

function countTokens(schema: unknown, items: number): number {
  if (!isRecord(schema)) {
    return TEXT_TOKENS;
  }
  const { type, properties, items: item, enum: words, anyOf, oneOf } = schema;
  const choices = [anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  if (choices.length > 0) {
    return Math.max(...choices.map((choice) => countTokens(choice, items)));
  }
  if (isRecord(properties)) {
    return Object.values(properties).reduce<number>(
      (sum, member) => sum + WORD_TOKENS + countTokens(member, items),
      WORD_TOKENS,
    );
  }
  if (type === 'array') {
    return items * countTokens(item, ITEMS.least);
  }
  const isWord = Array.isArray(words) || ['number', 'integer', 'boolean', 'null'].includes(String(type));
  return isWord ? WORD_TOKENS : TEXT_TOKENS;
}

/** Names of models that think before they answer. Others are recognised by their first thoughts. */
const THINKING_NAME =
  /(?:^|[/:-])(?:o[1-9]\b|gpt-[5-9]|gpt-oss|deepseek-r|qwen3|qwq|magistral|r1\b)|think|reason/i;
const THOUGHTS = /<think|<thought|<reasoning|\[THINK\]|<\|channel\|>|<\/think/i;

/** Most models that are remembered. */
const MAX_REMEMBERED = 1_000;
const thinking = new Set<string>();

/** Returns the tokens that a model may think beside its reply; 0 for a model that has shown no thoughts. */
export function thinkingRoom(model: string): number {
  return THINKING_NAME.test(model) || thinking.has(model) ? THINKING_TOKENS : 0;
}

/** Remembers a model whose reply shows thoughts: later replies get room for them. */
export function noteThoughts(
  model: string,
  { text, usage, hasThoughts = false }: Pick<ModelReply, 'text' | 'usage' | 'hasThoughts'>,
): void {
  const isThinking = hasThoughts || (usage?.reasoningTokens ?? 0) > 0 || THOUGHTS.test(text);
  if (isThinking && thinking.size < MAX_REMEMBERED) {
    thinking.add(model);
  }
}
