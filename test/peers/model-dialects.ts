import { ANSWER, ANSWERED, ASKED, CALL } from './model-story.ts';

interface DialectRequest {
  readonly model: string;
  readonly stream?: boolean;
  /** Anthropic. */
  readonly messages?: readonly { readonly content?: unknown }[];
  readonly tools?: readonly { readonly name?: unknown }[];
  /** Gemini. */
  readonly contents?: unknown;
}

/** A reply at once, or the events of a stream. */
export type DialectReply = { readonly body: object } | { readonly events: readonly object[] };

/** Writes the reply of another interface than chat completions and Responses; undefined for an unknown path. */
export function replyInDialect(path: string, body: DialectRequest, count: number): DialectReply | undefined {
  if (path === '/v1/completions') {
    return { body: textCompletion(body.model, count) };
  }
  if (path.startsWith('/v1/messages')) {
    const message = anthropicMessage(body, count);
    return body.stream === true ? { events: anthropicEvents(message) } : { body: message };
  }
  if (/^\/model\/[^/]+\/converse$/.test(path)) {
    return { body: bedrockMessage(body) };
  }
  const [, model, method] = /\/models\/([^/:]+):(generateContent|streamGenerateContent)/.exec(path) ?? [];
  if (model === undefined) {
    return undefined;
  }
  return method === 'generateContent'
    ? { body: geminiContent(model, body) }
    : { events: geminiPieces(model, body) };
}

/** Writes a reply of OpenAI's text completions: the answer at once, without a tool. */
function textCompletion(model: string, count: number): object {
  return {
    id: `cmpl-${count}`,
    object: 'text_completion',
    created: 1_700_000_000,
    model,
    choices: [{ index: 0, text: ANSWER, finish_reason: 'stop', logprobs: null }],
    usage: {
      prompt_tokens: ANSWERED.input,
      completion_tokens: ANSWERED.output,
      total_tokens: ANSWERED.input + ANSWERED.output,
    },
  };
}

type AnthropicBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly input: object };

/** Writes a reply of Anthropic's Messages API. A tool of an MCP server is offered with its server's name before its own. */
function anthropicMessage({ model, messages = [], tools }: DialectRequest, count: number) {
  const isAnswer =
    tools?.length === 0 || JSON.stringify(messages.at(-1)?.content ?? '').includes('"tool_result"');
  const { input, output } = isAnswer ? ANSWERED : ASKED;
  const offered = tools?.map(({ name }) => String(name)).find((name) => name.endsWith(CALL.name));
  const block: AnthropicBlock = isAnswer
    ? { type: 'text', text: ANSWER }
    : {
        type: 'tool_use',
        id: CALL.id,
        name: offered ?? CALL.name,
        input: JSON.parse(CALL.arguments) as object,
      };
  return {
    id: `msg_${count}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [block],
    stop_reason: isAnswer ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: input, output_tokens: output },
  };
}

/** Writes the events in which a stream tells the same message. */
function anthropicEvents(message: ReturnType<typeof anthropicMessage>): object[] {
  const { content, stop_reason, usage, ...head } = message;
  return [
    {
      type: 'message_start',
      message: { ...head, content: [], stop_reason: null, usage: { ...usage, output_tokens: 0 } },
    },
    ...content.flatMap((block, index) => [
      {
        type: 'content_block_start',
        index,
        content_block: block.type === 'text' ? { ...block, text: '' } : { ...block, input: {} },
      },
      {
        type: 'content_block_delta',
        index,
        delta:
          block.type === 'text'
            ? { type: 'text_delta', text: block.text }
            : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
      },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];
}

/** Writes a reply of Bedrock's `Converse`. */
function bedrockMessage({ messages = [] }: DialectRequest): object {
  const hasResult = JSON.stringify(messages.at(-1)?.content ?? '').includes('"toolResult"');
  const { input, output } = hasResult ? ANSWERED : ASKED;
  const block = hasResult
    ? { text: ANSWER }
    : { toolUse: { toolUseId: CALL.id, name: CALL.name, input: JSON.parse(CALL.arguments) as object } };
  return {
    output: { message: { role: 'assistant', content: [block] } },
    stopReason: hasResult ? 'end_turn' : 'tool_use',
    usage: { inputTokens: input, outputTokens: output, totalTokens: input + output },
    metrics: { latencyMs: 5 },
  };
}

/** Writes a reply of Gemini's `generateContent`. */
function geminiContent(model: string, { contents }: DialectRequest): object {
  const hasResult = hasGeminiResult(contents);
  return geminiResponse(model, hasResult, hasResult ? { text: ANSWER } : geminiCall(), true);
}

/** Writes the events of Gemini's `streamGenerateContent`: an answer comes in two pieces. */
function geminiPieces(model: string, { contents }: DialectRequest): object[] {
  if (!hasGeminiResult(contents)) {
    return [geminiResponse(model, false, geminiCall(), true)];
  }
  const middle = ANSWER.indexOf(' ');
  return [
    geminiResponse(model, true, { text: ANSWER.slice(0, middle) }, false),
    geminiResponse(model, true, { text: ANSWER.slice(middle) }, true),
  ];
}

function hasGeminiResult(contents: unknown): boolean {
  return JSON.stringify(contents ?? []).includes('functionResponse');
}

function geminiCall(): object {
  return { functionCall: { name: CALL.name, args: JSON.parse(CALL.arguments) as object } };
}

function geminiResponse(model: string, hasResult: boolean, part: object, isLast: boolean): object {
  const { input, output } = hasResult ? ANSWERED : ASKED;
  return {
    candidates: [
      {
        index: 0,
        content: { role: 'model', parts: [part] },
        ...(isLast ? { finishReason: 'STOP' } : {}),
      },
    ],
    usageMetadata: {
      promptTokenCount: input,
      candidatesTokenCount: output,
      totalTokenCount: input + output,
    },
    modelVersion: model,
  };
}
