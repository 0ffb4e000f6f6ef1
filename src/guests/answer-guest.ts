import { hashValue } from '../domain/identity.ts';
import { configuredJudges } from '../judge/judge-registry.ts';
import type { JudgeScope } from '../judge/judge-scope.ts';
import type { ModelReply } from '../judge/model-call.ts';
import { createQuestionTally } from '../judge/limits/question-tally.ts';
import { defaultRedactor } from '../judge/redaction/redaction.ts';
import { callRepeatedly } from '../judge/repeated-call.ts';
import type { GuestQuestion } from './guest-messages.ts';

/** A judge's reply to a guest. */
export interface GuestAnswer {
  readonly reply: ModelReply;
  /** Keeps the reply for an equal question, once the guest could use it. */
  readonly remember: () => void;
}

/**
 * Makes a guest's call to a judge in this process: redaction, budget, limits, audit and cache of the scope hold. Throws
 * `JudgeError`.
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
  // The key of the first question, as `askForObject` makes it: a repeat in another form is part of the same question.
  const [system, prompt] = messages.map(({ text }) => text);
  const key = hashValue([judge.name, system, prompt, temperature, responseSchema?.jsonSchema ?? null]);
  const known = messages.length === 2 ? scope.cache?.get(key) : undefined;
  if (known !== undefined) {
    scope.onReuse?.(judge.name);
  }
  const reply =
    known === undefined
      ? await callRepeatedly({ messages, temperature, responseSchema }, registry.limits.maxRetries, {
          judge,
          registry,
          scope,
          tally: createQuestionTally(judge, registry.limits.timeoutMs),
          signal: AbortSignal.any([signal, ...(scope.signal === undefined ? [] : [scope.signal])]),
          step: question.step,
        })
      : { text: known.text, modelId: known.modelId, finishReason: 'stop', usage: undefined };
  return { reply, remember: () => scope.cache?.set(key, reply) };
}

function createCleaner({ redactor = defaultRedactor() }: JudgeScope): (text: string) => string {
  return redactor === false ? (text) => text : (text) => redactor.text(text);
}
