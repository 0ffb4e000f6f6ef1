import type { ModelCall } from './model-call.ts';

/** UTF-8 bytes per token: below the average of English (4) and JSON, about the average of most other scripts. */
const BYTES_PER_TOKEN = 3;

/** Tokens of the envelope of a message. */
const TOKENS_PER_MESSAGE = 8;

/** Output tokens expected of a reply before its real length is known. */
const OUTPUT_TOKENS = 500;

export interface TokenEstimate {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Estimates the tokens of a call from its messages and the schema sent with them. */
export function estimateTokens({
  messages,
  responseSchema,
}: Pick<ModelCall, 'messages' | 'responseSchema'>): TokenEstimate {
  const schema = responseSchema === undefined ? '' : JSON.stringify(responseSchema.jsonSchema);
  const bytes = messages.reduce((sum, { text }) => sum + Buffer.byteLength(text), Buffer.byteLength(schema));
  return {
    inputTokens: Math.ceil(bytes / BYTES_PER_TOKEN) + messages.length * TOKENS_PER_MESSAGE,
    outputTokens: OUTPUT_TOKENS,
  };
}
