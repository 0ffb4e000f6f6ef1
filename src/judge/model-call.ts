import type { OpenAIProvider } from '@ai-sdk/openai';
import {
  readErrorInReply,
  readFirstChoice,
  isFilterFinish,
  findRefusal,
  readIncomplete,
  ErrorInCompletion,
  findRejectedText,
} from './faults.ts';
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

/** A decision model object of the AI SDK: any object with `doDecide`, or with `doEvaluate`, its name in some packages. */
export interface DecisionModelObject {
  readonly modelId: string;
  readonly provider: string;
  doDecide?(options: never): PromiseLike<unknown>;
  doEvaluate?(options: never): PromiseLike<unknown>;
}

/** Batch interface of a package of the AI SDK, which writes and reads the wire format. */
export type BatchApi = Required<ReturnType<OpenAIProvider['experimental_batch']>>;

export type AnyModelObject = JudgeModelObject | DecisionModelObject;

/** True for a model that answers typed questions, and writes no text. */
export function isDecisionModel(model: AnyModelObject): model is DecisionModelObject {
  return !('doGenerate' in model) && ('doDecide' in model || 'doEvaluate' in model);
}

/** Part of the state that the questions of a decision judge are about. */
export type StatePart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'json'; readonly value: object };

/** Typed question to a decision judge: one of several options, a level, or whether it is so. */
export type DecisionQuestion =
  | {
      readonly type: 'choice';
      readonly instructions: string;
      /** Options, each with its meaning; null where the state tells it. */
      readonly criteria: Readonly<Record<string, string | null>>;
    }
  | {
      readonly type: 'score';
      readonly instructions: string;
      /** Meanings of the levels, the lowest first. */
      readonly criteria: readonly (string | null)[];
    }
  | { readonly type: 'boolean'; readonly instructions: string };

/** Questions about one state, by name. */
export interface Decisions {
  readonly state: readonly StatePart[];
  readonly questions: Readonly<Record<string, DecisionQuestion>>;
}

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly text: string;
}

export interface ModelCall {
  readonly messages: readonly ChatMessage[];
  readonly temperature: number | undefined;
  /** Most tokens of the reply, thoughts included. Undefined: the model's own limit. */
  readonly maxOutputTokens: number | undefined;
  /** Effort of thinking, in the words of the AI SDK; undefined: that of the provider. */
  readonly reasoning?: string | undefined;
  /** Sent as a parameter of the request when present; JSON mode, where its schema is left out. */
  readonly responseSchema:
    | { readonly jsonSchema: object; readonly strict: boolean; readonly isLeftOut?: boolean }
    | undefined;
  /** Questions for a decision model, in place of the messages, which show them as text. */
  readonly decisions?: Decisions | undefined;
  readonly signal: AbortSignal;
}

export interface ModelReply {
  readonly text: string;
  /** `stop`, `length`, `content-filter`, `tool-calls`, `error`, `other`, … */
  readonly finishReason: string;
  readonly usage: JudgeUsage | undefined;
  readonly modelId: string | undefined;
  /** True when the server filed the whole text under the thoughts. */
  readonly isThought?: boolean | undefined;
  /** True when the server sent thoughts beside the text. */
  readonly hasThoughts?: boolean | undefined;
  /** Words of the server about a text that it refused or filtered. */
  readonly serverWords?: string | undefined;
}

/**
 * Calls a model once. Throws the error that the model object throws; a reply in an unknown shape is `judge_malformed`. An error about
 * the model's own text is a reply with that text.
 */
export async function callModel(model: AnyModelObject, call: ModelCall): Promise<ModelReply> {
  if (isDecisionModel(model)) {
    return callDecisionModel(model, call);
  }
  const options = {
    prompt: call.messages.map((message) =>
      message.role === 'system'
        ? { role: 'system', content: message.text }
        : { role: message.role, content: [{ type: 'text', text: message.text }] },
    ),
    ...(call.temperature === undefined ? {} : { temperature: call.temperature }),
    ...(call.maxOutputTokens === undefined ? {} : { maxOutputTokens: call.maxOutputTokens }),
    ...(call.reasoning === undefined ? {} : { reasoning: call.reasoning }),
    ...responseFormat(call.responseSchema),
    abortSignal: call.signal,
  };
  try {
    // A model object may ignore its signal.
    return readReply(await untilAborted(model.doGenerate(options as never), call.signal));
  } catch (thrown) {
    const rejected = findRejectedText(thrown);
    if (rejected === undefined) {
      throw thrown;
    }
    const { text, said } = rejected;
    return { text, finishReason: 'error', usage: undefined, modelId: undefined, serverWords: said };
  }
}

/** Calls a decision model once. The text of the reply is the JSON of its answers and their rounding. */
async function callDecisionModel(
  model: DecisionModelObject,
  { decisions, signal }: ModelCall,
): Promise<ModelReply> {
  const options = { ...decisions, abortSignal: signal } as never;
  const called = model.doDecide === undefined ? model.doEvaluate?.(options) : model.doDecide(options);
  const result: unknown = await untilAborted(Promise.resolve(called), signal);
  if (!isObject(result) || !isObject(result['answers'])) {
    throw new JudgeError('judge_malformed', 'the decision model returned no answers');
  }
  const { answers, rounding, usage, response } = result;
  const { body, modelId } = isObject(response) ? response : {};
  return {
    text: JSON.stringify({ answers, rounding }),
    finishReason: 'stop',
    usage: readDecisionUsage(usage, body),
    modelId: typeof modelId === 'string' && modelId !== '' ? modelId : undefined,
  };
}

/** Reads the usage of decisions, which cost input alone: a provider that counts no output has none. */
function readDecisionUsage(usage: unknown, body: unknown): JudgeUsage | undefined {
  const read = readUsage(usage);
  const sent = isObject(body) && isObject(body['usage']) ? body['usage']['input_tokens_details'] : undefined;
  const cachedInputTokens = isObject(sent) ? count(sent['cached_tokens']) : undefined;
  const { inputTokens, outputTokens = 0 } = read ?? {};
  return inputTokens === undefined || read === undefined
    ? undefined
    : {
        ...read,
        outputTokens,
        totalTokens: inputTokens + outputTokens,
        cachedInputTokens: cachedInputTokens ?? read.cachedInputTokens,
      };
}

/** Option of packages that send a schema as a strict one; each reads the key of its own name. */
const NOT_STRICT = Object.fromEntries(
  ['openaiCompatible', 'openai', 'azure', 'mistral', 'groq'].map((name) => [
    name,
    { strictJsonSchema: false },
  ]),
);

function responseFormat(schema: ModelCall['responseSchema']): object {
  if (schema === undefined) {
    return {};
  }
  return {
    responseFormat: {
      type: 'json',
      ...(schema.isLeftOut === true ? {} : { schema: schema.jsonSchema, name: 'answer' }),
    },
    ...(schema.strict ? {} : { providerOptions: NOT_STRICT }),
  };
}

function readReply(result: unknown): ModelReply {
  if (!isObject(result) || !Array.isArray(result['content'])) {
    throw new JudgeError('judge_malformed', 'the judge model object returned no content list');
  }
  const { response, structuredOutputText: structured } = result;
  const { body, modelId } = isObject(response) ? response : {};
  if (isObject(body) && readErrorInReply(body, 0) !== undefined) {
    throw new ErrorInCompletion(body);
  }
  const said = typeof structured === 'string' ? structured : joinParts(result['content'], 'text');
  const thoughts = joinParts(result['content'], 'reasoning').trim();
  // A server with a parser for thoughts files the whole reply of a model that does not think under them.
  const isThought = said.trim() === '' && /^[{[][\s\S]*[}\]]$/.test(thoughts);
  return {
    text: isThought ? thoughts : said,
    ...readFinish(result, body, said),
    usage: readUsage(result['usage']),
    modelId: typeof modelId === 'string' && modelId !== '' ? modelId : undefined,
    ...(isThought ? { isThought } : {}),
    ...(thoughts === '' ? {} : { hasThoughts: true }),
  };
}

/** Reads how a reply ended: v2 has one word, v3 and v4 have the word of the provider beside it. */
function readFinish(
  { finishReason: finish, serverWords }: Readonly<Record<string, unknown>>,
  body: unknown,
  said: string,
): Pick<ModelReply, 'finishReason' | 'serverWords'> {
  const { unified, raw } = isObject(finish) ? finish : { unified: finish, raw: finish };
  const message = readFirstChoice(body)?.['message'];
  const refusal = findRefusal(body);
  const isRefusal =
    refusal !== undefined || (isObject(message) && said !== '' && message['refusal'] === said);
  const end = readIncomplete(body) ?? raw;
  const isFiltered = typeof end === 'string' && isFilterFinish(end);
  const words = isFiltered ? end : (refusal ?? serverWords);
  return {
    finishReason:
      isFiltered || isRefusal
        ? 'content-filter'
        : end === 'max_output_tokens'
          ? 'length'
          : typeof unified === 'string'
            ? unified
            : 'other',
    ...(typeof words === 'string' ? { serverWords: words } : {}),
  };
}

function joinParts(content: readonly unknown[], type: string): string {
  return content
    .filter(isObject)
    .map((part) => (part['type'] === type && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('');
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/**
 * Reads the usage: v2 has flat counts, v3 and v4 nest them by direction. Thoughts that the server counts in the total alone are output.
 * A usage without input tokens is none: each call reads some.
 */
function readUsage(usage: unknown): JudgeUsage | undefined {
  if (!isObject(usage)) {
    return undefined;
  }
  const { inputTokens: input, outputTokens: output } = usage;
  const inputTokens = (isObject(input) ? count(input['total']) : count(input)) || undefined;
  const told = isObject(output) ? count(output['total']) : count(output);
  const raw = isObject(usage['raw']) ? usage['raw'] : {};
  const total = count(usage['totalTokens']) ?? count(raw['total_tokens']);
  if (inputTokens === undefined) {
    return undefined;
  }
  const outputTokens = Math.max(told ?? 0, (total ?? 0) - inputTokens) || told;
  const read: JudgeUsage = {
    inputTokens,
    outputTokens,
    totalTokens: outputTokens === undefined ? total : inputTokens + outputTokens,
    reasoningTokens: isObject(output) ? count(output['reasoning']) : count(usage['reasoningTokens']),
    cachedInputTokens: isObject(input) ? count(input['cacheRead']) : count(usage['cachedInputTokens']),
    cacheCreationInputTokens: isObject(input) ? count(input['cacheWrite']) : undefined,
  };
  return Object.values(read).every((value) => value === undefined) ? undefined : read;
}
