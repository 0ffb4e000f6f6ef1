import type { CallStatus } from '../domain/call-status.ts';
import type { JudgeCallDeps } from './call-deps.ts';
import type { JudgeUsage } from './judge-execution.ts';
import type { ChatMessage, ModelReply } from './model-call.ts';

interface CallOutcome {
  readonly status: CallStatus;
  readonly reply: string;
  /** '' for a success. */
  readonly error: string;
  readonly usage?: JudgeUsage | undefined;
  readonly cost?: number | undefined;
}

/** Reply to a call whose record waits for the reader of the reply. */
export interface AnsweredCall {
  readonly reply: ModelReply;
  /**
   * Passes the record of the call to the scope.
   * @param fault why the reply cannot be used; absent: it can
   */
  readonly record: (fault?: string) => void;
}

/** Pairs a reply with the record of its call. */
export function answerCall(
  reply: ModelReply,
  cost: number | undefined,
  record: (outcome: CallOutcome) => void,
): AnsweredCall {
  const { text, usage } = reply;
  return {
    reply,
    record: (error = '') =>
      record({ status: error === '' ? 'success' : 'unusable', reply: text, error, usage, cost }),
  };
}

/** Starts the record of a call. The returned function passes it to the scope when the call has ended. */
export function startRecord(
  messages: readonly ChatMessage[],
  { scope, judge, step, registry }: JudgeCallDeps,
): (outcome: CallOutcome) => void {
  const calledAtMs = registry.deps.now();
  const started = performance.now();
  return ({ status, reply, error, usage, cost }) => {
    scope.onCall?.({
      step,
      model: judge.name,
      provider: judge.provider,
      prompt: joinSaid(messages),
      status,
      reply,
      error,
      usage,
      cost,
      durationMs: performance.now() - started,
      calledAtMs,
    });
  };
}

/** Joins the messages as the record of a call has them. */
export function joinSaid(messages: readonly ChatMessage[]): string {
  return messages
    .filter((message) => message.role !== 'system')
    .map((message) => message.text)
    .join('\n\n');
}
