import { hashValue } from '../domain/identity.ts';
import { readErrorMessage } from '../domain/errors.ts';
import { leaveOutBinary } from './binary-content.ts';
import type { JudgeCallDeps } from './call-deps.ts';
import type { AnsweredCall } from './call-record.ts';
import { JudgeError, quoteText } from './judge-error.ts';
import type { JudgeExecution } from './judge-execution.ts';
import { configuredJudges } from './judge-registry.ts';
import { currentJudgeScope, type JudgeScope } from './judge-scope.ts';
import {
  resolveSchema,
  type JudgeSchema,
  type ResolvedSchema,
  type SchemaVerdict,
} from './reply/judge-schema.ts';
import type { ChatMessage, JudgeModelObject, ModelReply } from './model-call.ts';
import { createQuestionTally, type QuestionTally } from './limits/question-tally.ts';
import { defaultRedactor } from './redaction/redaction.ts';
import { findOutputLimit } from './output-limit.ts';
import { callRepeatedly } from './repeated-call.ts';
import { isRecord } from '../domain/unknown-values.ts';
import { parseLooseJson } from './reply/loose-json.ts';

/** Marks behind which a model's answer begins; each ends its thoughts. The opening mark may stand in the prompt of a template. */
const ENDS_OF_THOUGHTS =
  /<\/(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning)>|\[\/THINK\]|◁\/think▷|<\|(?:end_of_thought|END_THINKING)\|>/gi;

const BEGIN_OF_THOUGHTS =
  /^\s*(?:<(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning)>|\[THINK\]|◁think▷|<\|(?:begin_of_thought|START_THINKING)\|>)/i;

/** Begin of the answer of gpt-oss; servers that drop its special tokens leave the words of them. */
const FINAL_CHANNEL = /<\|channel\|>\s*final\b[^{[]{0,60}?<\|message\|>|^\s*analysis[\s\S]*?assistantfinal/gi;

const OTHER_CHANNEL = /<\|channel\|>\s*(?:analysis|commentary)\b/i;

/** Special tokens around an answer that a server left in its text. */
const SPECIAL_TOKENS =
  /^\s*<\|START_RESPONSE\|>|(?:<\|(?:end|return|im_end|eot_id|endoftext|END_RESPONSE)\|>|<\/s>)\s*$/gi;

/** Longest lead-in line before an answer, characters. */
const MAX_LEAD_IN_CHARS = 200;

/** Words of a line that announces no verdict of its own. The check against the material holds in every language. */
const NO_LEAD_IN = /\b(?:quot|draft|example|cannot\b|can't|unable|refus|tries\b|tried\b|attempt|inject)/i;

const FENCE = '```';

/** Keywords of schemas that can be written as a shape; titles and similar keywords are left out of the shape. */
const KNOWN_KEYS = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'enum',
  '$schema',
]);

const PLAIN_TYPES = new Set(['string', 'number', 'integer', 'boolean', 'null']);

export type { JudgeCall, JudgeExecution } from './judge-execution.ts';
export type { JudgeSchema } from './reply/judge-schema.ts';

/** `provider/model`, or a language model object of the AI SDK (specification v2 to v4). */
export type JudgeModel = string | JudgeModelObject;

export interface JudgeSettings {
  /** Default 0; not sent to models that refuse it. */
  temperature?: number | undefined;
  /** Repeats of one call after 429, 5xx and network faults. Default 2. */
  maxRetries?: number | undefined;
  /** Total time of the question in milliseconds, without waits for the provider's limits. Default: the time limit of the judge. */
  timeoutMs?: number | undefined;
  abortSignal?: AbortSignal | undefined;
  /** False: everything is sent unredacted. */
  redaction?: boolean | undefined;
}

interface Question {
  /** The system message, written by the author of the scorer. */
  readonly instructions: string;
  /** The user message, or its beginning; text from the trace is fenced inside it. */
  readonly prompt: string;
  /**
   * The end of the user message, written by the author of the scorer: what to do with the prompt. With it, the form of the
   * answer is told in the user message too, and the system message is `instructions` alone.
   */
  readonly task?: string | undefined;
  readonly settings?: JudgeSettings | undefined;
  /** Name of the scorer step, for the record of calls. */
  readonly step?: string | undefined;
}

export interface ObjectQuestion<T> extends Question {
  readonly schema: JudgeSchema<T>;
  /**
   * Called after the schema check. A returned sentence makes the answer malformed: the question is asked once more with that
   * sentence.
   */
  readonly check?: ((value: T) => string | undefined) | undefined;
}

export interface TextQuestion extends Question {
  /** True: an empty text is an answer. Default false. */
  readonly allowEmpty?: boolean | undefined;
}

export interface Answer<T> {
  readonly value: T;
  readonly execution: JudgeExecution;
}

/** Begin of the message that asks a question again after an answer that cannot be used. */
export const REPEAT_MARK = 'That answer cannot be used: ';

/** Most attempts of a question whose answer cannot be used. */
const MAX_ATTEMPTS = 2;

/**
 * Asks for a value that matches a schema. The schema is sent as a parameter and in words. After an answer that does not match,
 * asks once more and names the fault; a second such answer is `judge_malformed`. Throws `JudgeError` with `execution`; never
 * invents a value.
 */
export async function askForObject<T>(model: JudgeModel, question: ObjectQuestion<T>): Promise<Answer<T>> {
  const schema = await resolveSchema(question.schema);
  const read = ({ text }: ReplyText, prompt: string): SchemaVerdict<T> => {
    const verdict = readJsonReply(text, schema.validate, prompt);
    const fault = verdict.ok ? question.check?.(verdict.value) : undefined;
    return fault === undefined ? verdict : { ok: false, fault };
  };
  return ask(model, question, {
    ...writeMessages(question, tellFormat(schema)),
    schema,
    read,
    again: (fault) =>
      `${REPEAT_MARK}${fault}. Give the whole answer again, as one JSON value that matches the schema and nothing else.`,
  });
}

/**
 * Asks for a text; thoughts are no part of it. Throws `JudgeError` with `execution`. An empty answer is malformed unless `allowEmpty`
 * is set.
 */
export function askForText(model: JudgeModel, question: TextQuestion): Promise<Answer<string>> {
  return ask(model, question, {
    ...writeMessages(question),
    schema: undefined,
    read: ({ text: said, isThought }) => {
      const text = isThought === true ? '' : withoutThoughts(said);
      return text === '' && question.allowEmpty !== true
        ? { ok: false, fault: 'it is empty' }
        : { ok: true, value: text };
    },
    again: (fault) => `${REPEAT_MARK}${fault}. Give the whole answer again.`,
  });
}

/** Writes the two messages of a question. Data comes before task and format, so that questions about the same data begin alike. */
function writeMessages(
  { instructions, prompt, task }: Question,
  ...format: readonly string[]
): Pick<Form<unknown>, 'system' | 'prompt'> {
  return task === undefined
    ? { system: [instructions, ...format].join('\n\n'), prompt }
    : { system: instructions, prompt: [prompt, ...format, task].join('\n') };
}

function tellFormat({ jsonSchema }: ResolvedSchema<unknown>): string {
  const shape = schemaShape(jsonSchema);
  if (shape !== undefined) {
    return `Reply as JSON:\n${shape}`;
  }
  const rule = 'Answer with one JSON value and nothing else: no introduction, no code fence, no remarks.';
  const full =
    jsonSchema === undefined ? '' : ` It must match this JSON Schema:\n${JSON.stringify(jsonSchema)}`;
  return `${rule}${full}`;
}

type ReplyText = Pick<ModelReply, 'text' | 'isThought'>;

interface Form<T> {
  readonly system: string;
  readonly prompt: string;
  readonly schema: ResolvedSchema<T> | undefined;
  /** Reads the answer from a reply to the prompt. */
  readonly read: (reply: ReplyText, prompt: string) => SchemaVerdict<T>;
  readonly again: (fault: string) => string;
}

async function ask<T>(model: JudgeModel, question: Question, form: Form<T>): Promise<Answer<T>> {
  const scope = currentJudgeScope();
  const registry = scope.judges ?? configuredJudges();
  const judge = await registry.resolve(model, question.step);
  const settings = question.settings ?? {};
  const redact = createRedaction(scope, settings);
  const clean = (text: string): string => redact(leaveOutBinary(text));
  const system = clean(form.system);
  const prompt = clean(form.prompt);
  const signals = [settings.abortSignal, scope.signal].filter((signal) => signal !== undefined);
  const conversation: Conversation<T> = {
    system,
    prompt,
    form,
    temperature: settings.temperature ?? 0,
    maxRetries: settings.maxRetries ?? registry.limits.maxRetries,
    deps: {
      judge,
      registry,
      scope,
      tally: createQuestionTally(judge, settings.timeoutMs ?? judge.timeoutMs),
      signal: AbortSignal.any(signals),
      step: question.step ?? '',
    },
  };
  return askOnce(conversation);
}

interface Conversation<T> {
  readonly system: string;
  readonly prompt: string;
  readonly form: Form<T>;
  readonly temperature: number;
  readonly maxRetries: number;
  readonly deps: JudgeCallDeps;
}

function createRedaction(scope: JudgeScope, settings: JudgeSettings): (text: string) => string {
  if (settings.redaction === false || scope.redactor === false) {
    return (text) => text;
  }
  const redactor = scope.redactor ?? defaultRedactor();
  return (text) => redactor.text(text);
}

/** Looks in the reply cache of the scope first. If a call of the same question is running, waits for it. */
async function askOnce<T>(conversation: Conversation<T>): Promise<Answer<T>> {
  const { cache } = conversation.deps.scope;
  if (cache === undefined) {
    return converse(conversation);
  }
  const { system, prompt, temperature, deps, form } = conversation;
  const { fenceCode } = deps.scope;
  // Equal data of two targets is the same question, under different codes.
  const asked = fenceCode === undefined ? prompt : prompt.replaceAll(fenceCode, '');
  const key = hashValue([deps.judge.name, system, asked, temperature, form.schema?.jsonSchema ?? null]);
  for (;;) {
    const known = cache.get(key);
    const value = known === undefined ? undefined : form.read(known, prompt);
    if (value?.ok === true) {
      deps.scope.onReuse?.(deps.judge.name);
      const output = { output: value.value, cost: 0 };
      return { value: value.value, execution: deps.tally.execution('success', prompt, 1, output) };
    }
    const running = cache.inFlight.get(key);
    if (running === undefined) {
      const answered = converse(conversation, (reply) => cache.set(key, reply));
      // Other callers wait until this call ends, with or without an answer. Then they look in the cache again, and ask
      // themselves when it holds no answer.
      const ended = answered.then(
        () => undefined,
        () => undefined,
      );
      cache.inFlight.set(key, ended);
      return answered.finally(() => cache.inFlight.delete(key));
    }
    await Promise.race([running, waitForAbort(deps.signal)]);
    if (deps.signal.aborted) {
      throw new JudgeError(
        'cancelled',
        'the question to the judge was cancelled while an equal question was running',
      );
    }
  }
}

/** Resolves when the signal aborts; never otherwise. */
function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

async function converse<T>(
  conversation: Conversation<T>,
  remember: (reply: ModelReply) => void = () => undefined,
): Promise<Answer<T>> {
  const { form, prompt, deps } = conversation;
  const messages: ChatMessage[] = [
    { role: 'system', text: conversation.system },
    { role: 'user', text: prompt },
  ];
  for (let attempt = 1; ; attempt += 1) {
    const { reply, record } = await callForAttempt(conversation, messages, attempt);
    const verdict = judgeReply(reply, form, prompt);
    if (verdict.ok) {
      record();
      remember(reply);
      const output = { output: verdict.value, finishReason: reply.finishReason };
      return {
        value: verdict.value,
        execution: deps.tally.execution('success', prompt, attempt, output),
      };
    }
    const error = toJudgeError(verdict, reply);
    record(error.message);
    if (verdict.refused === true || attempt >= MAX_ATTEMPTS) {
      throw addExecution(error, deps.tally, prompt, attempt);
    }
    messages.push(
      { role: 'assistant', text: reply.text === '' ? '(nothing)' : reply.text },
      { role: 'user', text: form.again(verdict.fault) },
    );
  }
}

async function callForAttempt<T>(
  { form, temperature, maxRetries, prompt, deps }: Conversation<T>,
  messages: readonly ChatMessage[],
  attempt: number,
): Promise<AnsweredCall> {
  const responseSchema =
    form.schema?.jsonSchema === undefined
      ? undefined
      : { jsonSchema: form.schema.jsonSchema, strict: form.schema.strict };
  // A schema without a JSON Schema says nothing of its size: its reply gets the room of a text.
  const maxOutputTokens = findOutputLimit(form.schema?.jsonSchema, Buffer.byteLength(prompt));
  try {
    return await callRepeatedly({ messages, temperature, responseSchema, maxOutputTokens }, maxRetries, deps);
  } catch (thrown) {
    if (thrown instanceof JudgeError) {
      throw addExecution(thrown, deps.tally, prompt, attempt);
    }
    throw thrown;
  }
}

type ReplyVerdict<T> = SchemaVerdict<T> & { readonly refused?: boolean };

function judgeReply<T>(reply: ModelReply, form: Form<T>, prompt: string): ReplyVerdict<T> {
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
  return form.read(reply, prompt);
}

function toJudgeError(verdict: { fault: string; refused?: boolean }, reply: ModelReply): JudgeError {
  const options = { rawOutput: reply.text, finishReason: reply.finishReason };
  return verdict.refused === true
    ? new JudgeError('judge_refused', verdict.fault, options)
    : new JudgeError('judge_malformed', `the judge's answer cannot be used: ${verdict.fault}`, options);
}

/** Adds the question and its cost to the error. */
function addExecution(error: JudgeError, tally: QuestionTally, prompt: string, attempts: number): JudgeError {
  // When the call after an unusable answer fails without a text, the text of that answer is shown.
  const rawOutput = error.rawOutput ?? tally.lastText;
  error.execution = tally.execution('failed', prompt, attempts, {
    error: { name: error.name, message: readErrorMessage(error), code: error.code },
    ...(rawOutput === undefined ? {} : { rawOutput }),
    ...(error.finishReason === undefined ? {} : { finishReason: error.finishReason }),
  });
  return error;
}

type Node = Readonly<Record<string, unknown>>;

/**
 * Writes a JSON Schema in the short form that people use, `{"verdicts":[{"n":integer,"verdict":"yes"|"no"}]}`; it has a third
 * of the length. Undefined for a schema that the short form cannot express.
 */
export function schemaShape(schema: unknown): string | undefined {
  if (!isRecord(schema) || Object.keys(schema).some((key) => !KNOWN_KEYS.has(key))) {
    return undefined;
  }
  const { type } = schema;
  if (Array.isArray(schema['enum'])) {
    return schema['enum'].map((value) => JSON.stringify(value)).join('|');
  }
  if (type === 'object') {
    return objectShape(schema);
  }
  if (type === 'array') {
    const items = schemaShape(schema['items']);
    return items === undefined ? undefined : `[${items}]`;
  }
  const types: unknown[] = Array.isArray(type) ? type : [type];
  return types.every((name) => PLAIN_TYPES.has(String(name))) ? types.join('|') : undefined;
}

/** Writes the shape of an object. All members must be required: the short form cannot mark a member as optional. */
function objectShape({ properties, required }: Node): string | undefined {
  if (!isRecord(properties) || !Array.isArray(required)) {
    return undefined;
  }
  const members = Object.entries(properties).map(([name, member]) => {
    const shape = required.includes(name) ? schemaShape(member) : undefined;
    return shape === undefined ? undefined : `${JSON.stringify(name)}:${shape}`;
  });
  return members.includes(undefined) ? undefined : `{${members.join(',')}}`;
}

/**
 * Reads the answer from a reply: one JSON value that stands alone, apart from thoughts, a code fence and one lead-in line. JSON
 * inside other text is no answer, because it may be a quotation of the judged text.
 * @param material the question; JSON of it behind a lead-in line is a quotation
 */
export function readJsonReply<T>(
  reply: string,
  validate: (value: unknown) => SchemaVerdict<T>,
  material = '',
): SchemaVerdict<T> {
  const text = reply.trim();
  // Tried first: a verdict may quote marks of thoughts.
  const whole = parse(text);
  if (whole !== undefined) {
    return validate(whole.value);
  }
  const answer = withoutThoughts(text);
  if (answer === '') {
    return { ok: false, fault: text === '' ? 'it is empty' : 'it holds thoughts and no answer' };
  }
  const alone = parse(withoutFence(answer)) ?? parseAfterLeadIn(answer, material);
  return alone === undefined
    ? { ok: false, fault: 'it is not one complete JSON value that stands alone' }
    : validate(alone.value);
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return parseLooseJson(text);
  }
}

/** Removes a code fence around an answer; a server may have cut off one of its ends as a stop mark. */
function withoutFence(text: string): string {
  const opened = text.replace(/^```(?:[\w-]*\s|(?=[{[]))/, '');
  return opened.endsWith(FENCE) ? opened.slice(0, -FENCE.length) : opened;
}

function parseAfterLeadIn(answer: string, material: string): { readonly value: unknown } | undefined {
  const [line = ''] = answer.split('\n', 1);
  const rest = withoutFence(answer.slice(line.length).trim());
  const isLeadIn = line.length <= MAX_LEAD_IN_CHARS && !NO_LEAD_IN.test(line) && !/[{[]/.test(line);
  return isLeadIn && !simplify(material).includes(simplify(rest)) ? parse(rest) : undefined;
}

/** Drops white space, quotes and escapes, which differ between a text and its quotation. */
function simplify(text: string): string {
  return text.replaceAll(/\\+[nrt]|[\s\\"'`]/g, '');
}

/**
 * Removes a model's thoughts from its reply; they may contain drafts of the answer. All up to the last closing mark is thought.
 * Thoughts that do not end leave an empty answer.
 */
function withoutThoughts(reply: string): string {
  const final = cutUpTo(reply, FINAL_CHANNEL);
  if (final === undefined && OTHER_CHANNEL.test(reply)) {
    return '';
  }
  const said = final ?? reply;
  const answer = cutUpTo(said, ENDS_OF_THOUGHTS) ?? said;
  return BEGIN_OF_THOUGHTS.test(answer) ? '' : answer.replaceAll(SPECIAL_TOKENS, '').trim();
}

/** Returns what follows the last match; undefined without a match. */
function cutUpTo(text: string, mark: RegExp): string | undefined {
  const last = [...text.matchAll(mark)].at(-1);
  return last === undefined ? undefined : text.slice(last.index + last[0].length);
}
