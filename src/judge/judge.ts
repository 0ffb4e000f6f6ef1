import { hashValue } from '../domain/identity.ts';
import { leaveOutBinary } from './binary-content.ts';
import { QuestionTally } from './judge-call.ts';
import { JudgeError } from './judge-error.ts';
import { configuredJudges } from './judge-registry.ts';
import { currentJudgeScope, type JudgeScope } from './judge-scope.ts';
import { type AnyModelObject, isDecisionModel } from './model-call.ts';
import { defaultRedactor } from './redaction/redaction.ts';
import {
  resolveSchema,
  schemaShape,
  type JudgeSchema,
  type ResolvedSchema,
  type SchemaVerdict,
} from './reply/judge-schema.ts';
import { readJsonReply, withoutThoughts } from './reply/read-reply.ts';
import { type Answer, type Conversation, converse } from './retry.ts';

export type { JudgeCall, JudgeExecution } from './judge-execution.ts';
export type { JudgeSchema } from './reply/judge-schema.ts';
export type { Answer } from './retry.ts';

/** `provider/model`, or a language or decision model object of the AI SDK (specification v2 to v4). */
export type JudgeModel = string | AnyModelObject;

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

export interface AnyQuestion {
  readonly settings?: JudgeSettings | undefined;
  /** Name of the scorer step, for the record of calls. */
  readonly step?: string | undefined;
}

interface Question extends AnyQuestion {
  /** The system message, written by the author of the scorer. */
  readonly instructions: string;
  /** The user message, or its beginning; text from the trace is fenced inside it. */
  readonly prompt: string;
  /**
   * The end of the user message, written by the author of the scorer: what to do with the prompt. With it, the form of the
   * answer is told in the user message too, and the system message is `instructions` alone.
   */
  readonly task?: string | undefined;
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

/**
 * Asks for a value that matches a schema. The schema is sent as a parameter and in words. After an answer that does not match,
 * asks once more and names the fault; a second such answer is `judge_malformed`. Throws `JudgeError` with `execution`; never
 * invents a value.
 */
export async function askForObject<T>(model: JudgeModel, question: ObjectQuestion<T>): Promise<Answer<T>> {
  const schema = await resolveSchema(question.schema);
  const read: Form<T>['read'] = ({ text }, prompt): SchemaVerdict<T> => {
    const verdict = readJsonReply(text, schema.validate, prompt);
    const fault = verdict.ok ? question.check?.(verdict.value) : undefined;
    return fault === undefined ? verdict : { ok: false, fault };
  };
  return ask(model, question, {
    ...writeMessages(question, tellFormat(schema)),
    schema,
    read,
    again: 'Give the whole answer again, as one JSON value that matches the schema and nothing else.',
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
    again: 'Give the whole answer again.',
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

type Form<T> = Pick<Conversation<T>, 'system' | 'prompt' | 'schema' | 'read' | 'again'>;

async function ask<T>(model: JudgeModel, question: Question, form: Form<T>): Promise<Answer<T>> {
  const { clean, ...bounds } = await openQuestion(model, question);
  const { judge } = bounds.deps;
  if (isDecisionModel(judge.model)) {
    throw new JudgeError(
      'judge_misconfigured',
      `${judge.name} is a decision judge, which writes no text: this question needs a chat judge`,
    );
  }
  return askOnce({ ...form, ...bounds, system: clean(form.system), prompt: clean(form.prompt) });
}

/** Finds the judge of a question and its bounds; `clean` prepares a text for it. */
export async function openQuestion(model: JudgeModel, { settings = {}, step = '' }: AnyQuestion) {
  const scope = currentJudgeScope();
  const registry = scope.judges ?? configuredJudges();
  const judge = await registry.resolve(model, step);
  const redact = createRedaction(scope, settings);
  const signals = [settings.abortSignal, scope.signal].filter((signal) => signal !== undefined);
  return {
    clean: (text: string) => redact(leaveOutBinary(text)),
    temperature: judge.options.temperature ?? settings.temperature ?? 0,
    maxRetries: settings.maxRetries ?? registry.limits.maxRetries,
    deps: {
      judge,
      registry,
      scope,
      tally: new QuestionTally(judge, settings.timeoutMs ?? judge.timeoutMs),
      signal: AbortSignal.any(signals),
      step,
    },
  };
}

function createRedaction(scope: JudgeScope, settings: JudgeSettings): (text: string) => string {
  if (settings.redaction === false || scope.redactor === false) {
    return (text) => text;
  }
  const redactor = scope.redactor ?? defaultRedactor();
  return (text) => redactor.text(text);
}

/** Looks in the reply cache of the scope first. If a call of the same question is running, waits for it. */
export async function askOnce<T>(conversation: Conversation<T>): Promise<Answer<T>> {
  const { cache } = conversation.deps.scope;
  if (cache === undefined) {
    return converse(conversation);
  }
  const { system, prompt, temperature, deps, schema, read } = conversation;
  const fenceCode = deps.scope.fenceCode?.();
  // Equal data of two targets is the same question, under different codes.
  const asked = fenceCode === undefined ? prompt : prompt.replaceAll(fenceCode, '');
  const key = hashValue([deps.judge.name, system, asked, temperature, schema?.jsonSchema ?? null]);
  for (;;) {
    const known = cache.get(key);
    const value = known === undefined ? undefined : read(known, prompt);
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

/** True for a judge that answers typed questions, and writes no text. */
export function isDecisionJudge(model: JudgeModel | undefined): boolean {
  const judges = currentJudgeScope().judges ?? configuredJudges();
  const judge = model ?? judges.defaultModel;
  return judge !== undefined && judges.isDecision(judge);
}

/**
 * Computes the characters that data like this text may have in one question to a configured judge, by default the default judge;
 * undefined without a limit.
 */
export function findEvidenceRoom(model: string | undefined, text: string): number | undefined {
  const judges = currentJudgeScope().judges ?? configuredJudges();
  const name = model ?? judges.defaultModel;
  return name === undefined ? undefined : judges.windowOf(name).roomFor(text);
}
