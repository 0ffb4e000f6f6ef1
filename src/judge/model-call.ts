import { JudgeError } from './judge-error.ts';
import type { JudgeUsage } from './judge-execution.ts';
import { isObject } from '../domain/unknown-values.ts';
import { untilAborted } from '../domain/waits.ts';

/** A language model object of the AI SDK (specification v2, v3 or v4): any object with `doGenerate`. */
export interface JudgeModelObject {
  readonly modelId: string;
  readonly provider: string;
  // `never` accepts the parameter types of every specification version.
  doGenerate(options: never): PromiseLike<unknown>;
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly text: string;
}

/** Request of one model call. */
export interface ModelCall {
  readonly messages: readonly ChatMessage[];
  readonly temperature: number | undefined;
  /** Sent as a parameter of the request when present. */
  readonly responseSchema: { readonly jsonSchema: object; readonly strict: boolean } | undefined;
  readonly signal: AbortSignal;
}

/** Reply of one model call. */
export interface ModelReply {
  readonly text: string;
  /** `stop`, `length`, `content-filter`, `tool-calls`, `error`, `other`, … */
  readonly finishReason: string;
  readonly usage: JudgeUsage | undefined;
  /** Name of the model in the reply. */
  readonly modelId: string | undefined;
}

/** Calls a model once. Throws the error that the model object throws; a reply in an unknown shape is `judge_malformed`. */
export async function callModel(model: JudgeModelObject, call: ModelCall): Promise<ModelReply> {
  const options = {
    prompt: call.messages.map((message) =>
      message.role === 'system'
        ? { role: 'system', content: message.text }
        : { role: message.role, content: [{ type: 'text', text: message.text }] },
    ),
    ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
    ...responseFormat(call.responseSchema),
    abortSignal: call.signal,
  };
  // A model object may ignore its signal.
  return readReply(await untilAborted(model.doGenerate(options as never), call.signal));
}

function responseFormat(schema: ModelCall['responseSchema']): object {
  if (schema === undefined) {
    return {};
  }
  return {
    responseFormat: { type: 'json', schema: schema.jsonSchema, name: 'answer' },
    ...(schema.strict ? {} : { providerOptions: { openaiCompatible: { strictJsonSchema: false } } }),
  };
}

function readReply(result: unknown): ModelReply {
  if (!isObject(result) || !Array.isArray(result['content'])) {
    throw new JudgeError('judge_malformed', 'the judge model object returned no content list');
  }
  const structured = result['structuredOutputText'];
  const parts = result['content'].filter(isObject).filter((part) => part['type'] === 'text');
  const finish = result['finishReason'];
  const unified = isObject(finish) ? finish['unified'] : finish;
  const response = result['response'];
  const modelId = isObject(response) ? response['modelId'] : undefined;
  return {
    text:
      typeof structured === 'string'
        ? structured
        : parts.map((part) => (typeof part['text'] === 'string' ? part['text'] : '')).join(''),
    finishReason: typeof unified === 'string' ? unified : 'other',
    usage: readUsage(result['usage']),
    modelId: typeof modelId === 'string' && modelId !== '' ? modelId : undefined,
  };
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** Reads the usage: v2 has flat counts, v3 and v4 nest them by direction. */
function readUsage(usage: unknown): JudgeUsage | undefined {
  if (!isObject(usage)) {
    return undefined;
  }
  const { inputTokens: input, outputTokens: output } = usage;
  const inputTokens = isObject(input) ? count(input['total']) : count(input);
  const outputTokens = isObject(output) ? count(output['total']) : count(output);
  const sum =
    inputTokens === undefined || outputTokens === undefined ? undefined : inputTokens + outputTokens;
  const read: JudgeUsage = {
    inputTokens,
    outputTokens,
    totalTokens: count(usage['totalTokens']) ?? sum,
    reasoningTokens: isObject(output) ? count(output['reasoning']) : count(usage['reasoningTokens']),
    cachedInputTokens: isObject(input) ? count(input['cacheRead']) : count(usage['cachedInputTokens']),
    cacheCreationInputTokens: isObject(input) ? count(input['cacheWrite']) : undefined,
  };
  return Object.values(read).every((value) => value === undefined) ? undefined : read;
}
