import type { JudgeCallDeps } from './call-deps.ts';
import type { JudgeUsage } from './judge-execution.ts';
import type { ChatMessage } from './model-call.ts';

interface CallOutcome {
  readonly reply: string;
  /** '' for a success. */
  readonly error: string;
  readonly usage?: JudgeUsage | undefined;
  readonly cost?: number | undefined;
}

/** Starts the record of a call. The returned function passes it to the scope when the call has ended. */
export function startRecord(
  messages: readonly ChatMessage[],
  { scope, judge, step, registry }: JudgeCallDeps,
): (outcome: CallOutcome) => void {
  const calledAtMs = registry.deps.now();
  const started = performance.now();
  return ({ reply, error, usage, cost }) => {
    scope.onCall?.({
      step,
      model: judge.name,
      provider: judge.provider,
      status: error === '' ? 'success' : 'failed',
      prompt: joinSaid(messages),
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
