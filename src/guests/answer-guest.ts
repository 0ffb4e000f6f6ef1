import { hashValue } from '../domain/identity.ts';
import type { JudgeCallDeps, JudgeCallRequest } from '../judge/call-deps.ts';
import { configuredJudges } from '../judge/judge-registry.ts';
import type { JudgeScope } from '../judge/judge-scope.ts';
import type { ModelReply } from '../judge/model-call.ts';
import { createQuestionTally } from '../judge/limits/question-tally.ts';
import { defaultRedactor } from '../judge/redaction/redaction.ts';
import { callRepeatedly } from '../judge/repeated-call.ts';
import type { GuestQuestion } from './guest-messages.ts';

/** Reply of a judge to a question from an own scorer's process. */
export interface GuestAnswer {
  readonly reply: ModelReply;
  /** Adds the reply to the cache, once the scorer could use it. */
  readonly remember: () => void;
}

/**
 * Makes the judge call of an own scorer in this process, so that redaction, budget, limits, audit and cache of the scope apply.
 * Throws `JudgeError`.
 */
export async function answerGuest(
  question: GuestQuestion,
  scope: JudgeScope,
  signal: AbortSignal,
): Promise<GuestAnswer> {
  const registry = scope.judges ?? configuredJudges();
  const judge = await registry.resolve(question.model, question.step);
  const clean = createCleaner(scope);
  const messages = question.messages.map(({ role, text }) => ({ role, text: clean(text) }));
  const { temperature, responseSchema } = question;
  // Key of the first question, built like in `askForObject`: a repeat with other wording belongs to the same question.
  const [system, prompt] = messages.map(({ text }) => text);
  const key = hashValue([judge.name, system, prompt, temperature, responseSchema?.jsonSchema ?? null]);
  const known = messages.length === 2 ? scope.cache?.get(key) : undefined;
  if (known !== undefined) {
    scope.onReuse?.(judge.name);
  }
  const reply =
    known === undefined
      ? await callRecorded(
          { messages, temperature, responseSchema, maxOutputTokens: question.maxOutputTokens },
          {
            judge,
            registry,
            scope,
            tally: createQuestionTally(judge, judge.timeoutMs),
            signal: AbortSignal.any([signal, ...(scope.signal === undefined ? [] : [scope.signal])]),
            step: question.step,
          },
        )
      : { text: known.text, modelId: known.modelId, finishReason: 'stop', usage: undefined };
  return { reply, remember: () => scope.cache?.set(key, reply) };
}

/** Makes a call, and records its reply before the scorer reads it: a scorer that dies leaves its paid calls. */
async function callRecorded(request: JudgeCallRequest, deps: JudgeCallDeps): Promise<ModelReply> {
  const { reply, record } = await callRepeatedly(request, deps.registry.limits.maxRetries, deps);
  record();
  return reply;
}

function createCleaner({ redactor = defaultRedactor() }: JudgeScope): (text: string) => string {
  return redactor === false ? (text) => text : (text) => redactor.text(text);
}
