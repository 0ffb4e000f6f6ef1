import { setTimeout as sleep } from 'node:timers/promises';
import { readErrorMessage } from '../domain/errors.ts';
import { isSchemaRefusal } from './faults.ts';
import { type AnsweredCall, callJudge, type JudgeCallDeps, type JudgeCallRequest } from './judge-call.ts';
import { JudgeError, quoteText } from './judge-error.ts';
import type { JudgeExecution } from './judge-execution.ts';
import type { ChatMessage, Decisions, ModelReply } from './model-call.ts';
import { findOutputLimit, type ResolvedSchema, type SchemaVerdict } from './reply/judge-schema.ts';

// The retries of a question at once, of which docs/judges.md has a table: an answer that cannot be used is asked for once more, a
// refused setting is left out, and a call whose fault may pass is repeated with a backoff.

/** Begin of the message that asks a question again after an answer that cannot be used. */
export const REPEAT_MARK = 'That answer cannot be used: ';

/** Most attempts of a question whose answer cannot be used. */
const MAX_ATTEMPTS = 2;

export interface Answer<T> {
  readonly value: T;
  readonly execution: JudgeExecution;
}

/** Question as it is sent, and the reader of its answer. */
export interface Conversation<T> {
  readonly system: string;
  readonly prompt: string;
  /** Questions for a decision judge; the prompt shows them. */
  readonly decisions?: Decisions | undefined;
  readonly schema: ResolvedSchema<T> | undefined;
  readonly read: (reply: Pick<ModelReply, 'text' | 'isThought'>, prompt: string) => SchemaVerdict<T>;
  /** End of the message that asks again. */
  readonly again: string;
  readonly temperature: number;
  readonly maxRetries: number;
  readonly deps: JudgeCallDeps;
}

/**
 * Asks until an answer can be used, at most twice.
 * @param remember called with the usable reply
 */
export async function converse<T>(
  conversation: Conversation<T>,
  remember: (reply: ModelReply) => void = () => undefined,
): Promise<Answer<T>> {
  const { system, prompt, decisions, again, deps } = conversation;
  const messages: ChatMessage[] = [
    ...(decisions === undefined ? [{ role: 'system', text: system } as const] : []),
    { role: 'user', text: prompt },
  ];
  for (let attempt = 1; ; attempt += 1) {
    const answered = await callForAttempt(conversation, messages, attempt).catch((error: unknown) => {
      if (decisions === undefined || !isMalformed(error) || attempt >= MAX_ATTEMPTS) {
        throw error;
      }
    });
    if (answered === undefined) {
      continue;
    }
    const { reply, record } = answered;
    const verdict = judgeReply(reply, conversation);
    if (verdict.ok) {
      record();
      remember(reply);
      const output = { output: verdict.value, finishReason: reply.finishReason };
      return { value: verdict.value, execution: deps.tally.execution('success', prompt, attempt, output) };
    }
    const options = { rawOutput: reply.text, finishReason: reply.finishReason };
    const error =
      verdict.refused === true
        ? new JudgeError('judge_refused', verdict.fault, options)
        : new JudgeError('judge_malformed', `the judge's answer cannot be used: ${verdict.fault}`, options);
    record(error.message);
    if (verdict.refused === true || attempt >= MAX_ATTEMPTS) {
      throw addExecution(error, deps, prompt, attempt);
    }
    if (decisions === undefined) {
      messages.push(
        { role: 'assistant', text: reply.text === '' ? '(nothing)' : reply.text },
        { role: 'user', text: `${REPEAT_MARK}${verdict.fault}. ${again}` },
      );
    }
  }
}

/** True for a reply of which the package of the provider found that it cannot be used. */
function isMalformed(error: unknown): boolean {
  return error instanceof JudgeError && error.code === 'judge_malformed';
}

async function callForAttempt<T>(
  { schema, temperature, maxRetries, prompt, decisions, deps }: Conversation<T>,
  messages: readonly ChatMessage[],
  attempt: number,
): Promise<AnsweredCall> {
  const responseSchema =
    schema?.jsonSchema === undefined ? undefined : { jsonSchema: schema.jsonSchema, strict: schema.strict };
  // A schema without a JSON Schema says nothing of its size: its reply gets the room of a text.
  const maxOutputTokens = findOutputLimit(schema?.jsonSchema, Buffer.byteLength(prompt));
  try {
    return await callRepeatedly(
      { messages, temperature, responseSchema, maxOutputTokens, decisions },
      maxRetries,
      deps,
    );
  } catch (thrown) {
    throw thrown instanceof JudgeError ? addExecution(thrown, deps, prompt, attempt) : thrown;
  }
}

type ReplyVerdict<T> = SchemaVerdict<T> & { readonly refused?: boolean };

function judgeReply<T>(reply: ModelReply, { read, prompt }: Conversation<T>): ReplyVerdict<T> {
  if (reply.finishReason === 'content-filter') {
    const why = reply.serverWords === undefined ? '' : ` (${quoteText(reply.serverWords)})`;
    const said = reply.text === '' ? `its provider filtered the answer${why}` : quoteText(reply.text);
    return { ok: false, fault: `the judge refused to answer: ${said}`, refused: true };
  }
  if (reply.serverWords !== undefined) {
    return { ok: false, fault: `its server refused it: ${quoteText(reply.serverWords)}` };
  }
  if (reply.finishReason === 'length') {
    const at = reply.usage?.outputTokens;
    const limit = at === undefined ? 'the output limit' : `${at} tokens`;
    return { ok: false, fault: `it was cut off at ${limit}; be shorter` };
  }
  if (reply.finishReason === 'error' || reply.finishReason === 'interrupted') {
    return { ok: false, fault: 'it ended before it was complete' };
  }
  return read(reply, prompt);
}

/** Adds the question and its cost to the error. */
function addExecution(
  error: JudgeError,
  { tally }: JudgeCallDeps,
  prompt: string,
  attempts: number,
): JudgeError {
  // When the call after an unusable answer fails without a text, the text of that answer is shown.
  const rawOutput = error.rawOutput ?? tally.lastText;
  error.execution = tally.execution('failed', prompt, attempts, {
    error: { name: error.name, message: readErrorMessage(error), code: error.code },
    ...(rawOutput === undefined ? {} : { rawOutput }),
    ...(error.finishReason === undefined ? {} : { finishReason: error.finishReason }),
  });
  return error;
}

/** A setting that a model may refuse. */
type Setting = 'temperature' | 'responseSchema' | 'jsonMode' | 'maxOutputTokens';

/** Knowledge of a model from its calls: settings that it refuses, and that it thinks before it answers. */
type Trait = Setting | 'thinks';

/** Most models that are remembered. Beyond it the oldest is forgotten; at worst one more call is refused. */
const MAX_REMEMBERED = 1000;

/** Traits by the name of a judge: provider/model, or the names of a model object. */
const remembered = new Map<string, ReadonlySet<Trait>>();

function hasTrait(model: string, trait: Trait): boolean {
  return remembered.get(model)?.has(trait) === true;
}

/** Returns what a judge takes, as far as its calls have shown: the schema of a reply as a parameter, and a temperature. */
export function acceptedSettings(judge: string): {
  structured: 'schema' | 'json' | 'prompt';
  temperature: boolean;
} {
  return {
    structured: hasTrait(judge, 'jsonMode')
      ? 'prompt'
      : hasTrait(judge, 'responseSchema')
        ? 'json'
        : 'schema',
    temperature: !hasTrait(judge, 'temperature'),
  };
}

function rememberTrait(model: string, trait: Trait): void {
  const traits = new Set([...(remembered.get(model) ?? []), trait]);
  remembered.delete(model);
  remembered.set(model, traits);
  const [oldest = ''] = remembered.keys();
  if (remembered.size > MAX_REMEMBERED) {
    remembered.delete(oldest);
  }
}

/**
 * Calls a model until it replies. Repeats transport faults within limits, and leaves out settings that the model refuses. A
 * `Retry-After` beyond the limit is not waited for: the caller gets it with the error.
 */
export async function callRepeatedly(
  request: JudgeCallRequest,
  maxRetries: number,
  deps: JudgeCallDeps,
): Promise<AnsweredCall> {
  const { name } = deps.judge;
  for (let repeats = 0; ;) {
    const taken = <T>(setting: Setting, value: T) => (hasTrait(name, setting) ? undefined : value);
    const sent = {
      messages: request.messages,
      responseSchema: chooseForm(name, request.responseSchema),
      temperature: taken('temperature', request.temperature),
      maxOutputTokens: taken('maxOutputTokens', limitOutput(request, deps)),
      reasoning: deps.judge.options.reasoning,
      decisions: request.decisions,
    };
    try {
      const answered = await callWithinWindow(sent, deps);
      noteThoughts(name, answered.reply);
      return answered;
    } catch (thrown) {
      const refused = thrown instanceof JudgeError ? findRefusedSetting(thrown, sent) : undefined;
      if (refused === undefined) {
        if (request.decisions !== undefined && isMalformed(thrown)) {
          throw thrown;
        }
        await waitBeforeRepeat(thrown as JudgeError, { repeats, maxRetries }, deps);
        repeats += 1;
      } else {
        rememberTrait(name, refused);
      }
    }
  }
}

/** Returns how the form of a reply is sent: its schema, else JSON mode, else nothing but words. JSON mode gives objects alone. */
function chooseForm(
  name: string,
  form: JudgeCallRequest['responseSchema'],
): JudgeCallRequest['responseSchema'] {
  if (form === undefined || !hasTrait(name, 'responseSchema')) {
    return form;
  }
  const { type } = form.jsonSchema as { readonly type?: unknown };
  return type === 'object' && !hasTrait(name, 'jsonMode') ? { ...form, isLeftOut: true } : undefined;
}

/** Finds a sent setting that the model refuses: the call may be repeated without it. Providers name the setting in the message. */
function findRefusedSetting(error: JudgeError, sent: JudgeCallRequest): Setting | undefined {
  const status = Number(error.details['status']);
  const said = `${error.message} ${String(error.details['body'])}`;
  const isRefused = status === 400 || status === 422;
  if (error.code !== 'judge_misconfigured' && error.code !== 'judge_unavailable') {
    return undefined;
  }
  if (sent.temperature !== undefined && isRefused && /temperature/i.test(said)) {
    return 'temperature';
  }
  if (sent.maxOutputTokens !== undefined && isRefused && /max_?(?:\w+_)?tokens/i.test(said)) {
    return 'maxOutputTokens';
  }
  if (sent.responseSchema === undefined || !isSchemaRefusal(said, status)) {
    return undefined;
  }
  return sent.responseSchema.isLeftOut === true ? 'jsonMode' : 'responseSchema';
}

function limitOutput(request: JudgeCallRequest, { judge }: JudgeCallDeps): number | undefined {
  const { maxOutputTokens: most } = request;
  const needed = most === undefined ? undefined : most + (thinks(judge.name) ? THINKING_TOKENS : 0);
  const wanted = judge.options.maxOutputTokens ?? needed;
  return wanted === undefined ? undefined : (judge.window?.limitReply(wanted, request) ?? wanted);
}

/** Makes a call, and refuses a question that the judge's server does not read whole. */
async function callWithinWindow(request: JudgeCallRequest, deps: JudgeCallDeps): Promise<AnsweredCall> {
  const { window } = deps.judge;
  window?.rejectTooLong(request);
  const answered = await callJudge(request, deps).catch((thrown: unknown) => {
    throw (thrown instanceof JudgeError ? window?.readRefusal(thrown, request) : undefined) ?? thrown;
  });
  // Decisions are asked of hosted models, which refuse what is too long.
  const fault = request.decisions === undefined ? window?.checkReply(request, answered.reply) : undefined;
  if (fault !== undefined) {
    answered.record(fault.message);
    throw fault;
  }
  return answered;
}

async function waitBeforeRepeat(
  fault: JudgeError,
  { repeats, maxRetries }: { repeats: number; maxRetries: number },
  { judge, registry, signal, tally }: JudgeCallDeps,
): Promise<void> {
  const { limits, deps } = registry;
  if (!fault.repeatable || repeats >= maxRetries) {
    throw fault;
  }
  // Half of the wait is fixed, half random, so that callers which failed together do not retry together.
  const backoffMs = limits.firstRetryMs * 2 ** repeats * (0.5 + deps.random() / 2);
  const waitMs = Math.max(Math.min(backoffMs, limits.maxRetryWaitMs), fault.retryAfterMs ?? 0);
  if (waitMs > limits.maxRetryWaitMs || waitMs >= tally.remainingMs) {
    throw fault;
  }
  if (fault.code === 'judge_rate_limited') {
    judge.gate?.pause(waitMs);
  }
  tally.spendTime(waitMs);
  try {
    await sleep(waitMs, undefined, { signal });
  } catch (cause) {
    throw new JudgeError('cancelled', 'the question to the judge was cancelled', { cause });
  }
}

/** Tokens that a model may think beside its reply. */
const THINKING_TOKENS = 16_000;

/** Names of models that think before they answer. Others are recognised by their first thoughts. */
const THINKING_NAME =
  /(?:^|[/:-])(?:o[1-9]\b|gpt-[5-9]|gpt-oss|deepseek-r|qwen3|qwq|magistral|r1\b)|think|reason/i;
const THOUGHTS = /<think|<thought|<reasoning|\[THINK\]|<\|channel\|>|<\/think/i;

function thinks(model: string): boolean {
  return THINKING_NAME.test(model) || hasTrait(model, 'thinks');
}

/** Remembers a model whose reply shows thoughts: later replies get room for them. */
function noteThoughts(model: string, { text, usage, hasThoughts = false }: ModelReply): void {
  if (!thinks(model) && (hasThoughts || (usage?.reasoningTokens ?? 0) > 0 || THOUGHTS.test(text))) {
    rememberTrait(model, 'thinks');
  }
}
