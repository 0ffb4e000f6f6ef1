import { JudgeError } from './judge-error.ts';
import type { JudgeUsage } from './judge-execution.ts';
import { toJudgeError } from './judge-fault.ts';
import { priceOf } from '../domain/model-prices.ts';
import { costOf } from './judge-cost.ts';
import type { JudgeRegistry, ResolvedJudge } from './judge-registry.ts';
import type { JudgeScope } from './judge-scope.ts';
import { callModel, type ChatMessage, type ModelCall, type ModelReply } from './model-call.ts';
import type { QuestionTally } from './question-tally.ts';

export interface JudgeCallDeps {
  readonly judge: ResolvedJudge;
  readonly registry: JudgeRegistry;
  readonly scope: JudgeScope;
  readonly tally: QuestionTally;
  /** The caller gave up. */
  readonly signal: AbortSignal;
  /** Name of the scorer step, for the record. */
  readonly step: string;
}

export type JudgeCallRequest = Omit<ModelCall, 'signal'>;

/** Characters a token of English holds on average; only used to reserve a share of a provider's token rate. */
const CHARS_PER_TOKEN = 4;
/** Output tokens that are reserved for a reply before its real length is known. */
const RESERVED_OUTPUT_TOKENS = 500;

/** One call to a judge within its provider's limits, counted and recorded. Throws `JudgeError`, or what `onCall` throws. */
export async function callJudge(request: JudgeCallRequest, deps: JudgeCallDeps): Promise<ModelReply> {
  const { judge, signal, tally } = deps;
  const permit = await judge.gate?.acquire({ tokens: estimateTokens(request.messages), signal });
  let usage: JudgeUsage | undefined;
  try {
    await passChecks(deps);
    const record = startRecord(request.messages, deps);
    const reply = await callInTime(request, deps).catch((thrown: unknown) => {
      const fault = toJudgeError(thrown, deps.registry.deps.now());
      tally.countCall();
      tellBreaker(fault, judge);
      record({ reply: fault.rawOutput ?? '', error: fault.message });
      throw fault;
    });
    usage = reply.usage;
    const cost = costOf(usage, priceOf(judge.name, deps.registry.prices));
    tally.countCall(reply, cost);
    judge.breaker?.succeeded();
    record({ reply: reply.text, error: '', usage, cost });
    return reply;
  } finally {
    permit?.release(usage?.totalTokens);
  }
}

function estimateTokens(messages: readonly ChatMessage[]): number {
  const chars = messages.reduce((sum, message) => sum + message.text.length, 0);
  return Math.ceil(chars / CHARS_PER_TOKEN) + RESERVED_OUTPUT_TOKENS;
}

/** The circuit breaker first: a budget must not be reserved for a call that will not go. */
async function passChecks({ judge, scope, registry }: JudgeCallDeps): Promise<void> {
  const blocked = judge.breaker?.blocked();
  if (blocked !== undefined) {
    throw new JudgeError(
      blocked.failure.code,
      `judge provider "${judge.provider}" is left alone after repeated failures; the last: ${blocked.failure.message}`,
      { cause: blocked.failure, retryAfterMs: blocked.remainingMs },
    );
  }
  try {
    await scope.beforeCall?.();
  } catch (thrown) {
    judge.breaker?.abandoned();
    throw toJudgeError(thrown, registry.deps.now());
  }
}

async function callInTime(request: JudgeCallRequest, deps: JudgeCallDeps): Promise<ModelReply> {
  const { judge, signal, tally } = deps;
  const started = performance.now();
  const deadline = new AbortController();
  const timeoutMs = Math.max(1, Math.ceil(tally.remainingMs));
  const timer = setTimeout(() => deadline.abort(), timeoutMs);
  try {
    const either = AbortSignal.any([signal, deadline.signal]);
    return await callModel(judge.model, { ...request, signal: either });
  } catch (cause) {
    if (signal.aborted) {
      throw new JudgeError('cancelled', 'the question to the judge was cancelled', { cause });
    }
    if (deadline.signal.aborted) {
      throw new JudgeError('judge_timeout', `the judge did not answer within ${timeoutMs} ms`, { cause });
    }
    throw cause;
  } finally {
    clearTimeout(timer);
    tally.spendTime(performance.now() - started);
  }
}

function tellBreaker(fault: JudgeError, judge: ResolvedJudge): void {
  switch (fault.code) {
    case 'judge_unavailable':
    case 'judge_timeout':
    case 'judge_unauthorised':
      judge.breaker?.failed(fault);
      return;
    case 'judge_malformed':
    case 'judge_refused':
    case 'judge_misconfigured':
    case 'judge_rate_limited':
      judge.breaker?.succeeded();
      return;
    case 'budget_exhausted':
    case 'cancelled':
    case 'overloaded':
      judge.breaker?.abandoned();
  }
}

interface CallOutcome {
  readonly reply: string;
  /** '' for a success. */
  readonly error: string;
  readonly usage?: JudgeUsage | undefined;
  readonly cost?: number | undefined;
}

function startRecord(
  messages: readonly ChatMessage[],
  { scope, judge, step, registry }: JudgeCallDeps,
): (outcome: CallOutcome) => void {
  const calledAtMs = registry.deps.now();
  const started = performance.now();
  return ({ reply, error, usage, cost }) => {
    const said = messages.filter((message) => message.role !== 'system').map((message) => message.text);
    scope.onCall?.({
      step,
      model: judge.name,
      provider: judge.provider,
      status: error === '' ? 'success' : 'failed',
      prompt: said.join('\n\n'),
      reply,
      error,
      usage,
      cost,
      durationMs: performance.now() - started,
      calledAtMs,
    });
  };
}
