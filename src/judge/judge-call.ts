import { findCost, findPrice } from '../domain/money/model-prices.ts';
import { toJudgeError } from './faults.ts';
import { FAILURES, JudgeError } from './judge-error.ts';
import type { JudgeRegistry, ResolvedJudge } from './judge-registry.ts';
import type { JudgeCall, JudgeExecution, JudgeUsage, TokenEstimate } from './judge-execution.ts';
import type { CallReservation, JudgeScope, PlannedCall } from './judge-scope.ts';
import { callModel, type ChatMessage, type ModelCall, type ModelReply } from './model-call.ts';

export interface JudgeCallDeps {
  readonly judge: ResolvedJudge;
  readonly registry: JudgeRegistry;
  readonly scope: JudgeScope;
  readonly tally: QuestionTally;
  /** Aborts when the caller stops waiting. */
  readonly signal: AbortSignal;
  /** Name of the scorer step, for the record of the call. */
  readonly step: string;
}

export type JudgeCallRequest = Omit<ModelCall, 'signal'>;

/** Reply to a call whose record waits for the reader of the reply. */
export interface AnsweredCall {
  readonly reply: ModelReply;
  /**
   * Passes the record of the call to the scope.
   * @param fault why the reply cannot be used; absent: it can
   */
  readonly record: (fault?: string) => void;
}

/**
 * Makes one call to a judge within the limits of its provider and the budget of its rule, and counts it. Records a call without a
 * reply; the record of a reply waits for its reader. Throws `JudgeError`, or the error that `onCall` throws.
 */
export async function callJudge(request: JudgeCallRequest, deps: JudgeCallDeps): Promise<AnsweredCall> {
  const { judge, registry, scope } = deps;
  const planned = planCall(request, deps);
  scope.onPlan?.(planned);
  // Checked first, so that no money is reserved for a call that will not be made.
  rejectBlocked(judge, judge.breaker?.openedBy());
  const reservation = await asJudgeError(registry, async () => scope.reserve?.(planned));
  // Nothing, until the model may have worked; undefined where the provider sent no usage.
  let costUsd: number | undefined = 0;
  try {
    return await callWithinLimits(request, deps, {
      planned,
      begin: reservation?.begin,
      book: (usage) => {
        costUsd = findCost(usage, findPrice(judge.name, registry.prices));
      },
    });
  } finally {
    reservation?.settle(costUsd);
  }
}

/** Runs a step of the serving side, whose error stops the call. */
async function asJudgeError<T>({ deps }: JudgeRegistry, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (thrown) {
    throw toJudgeError(thrown, deps.now());
  }
}

function planCall(request: JudgeCallRequest, { judge, registry, step }: JudgeCallDeps): PlannedCall {
  const tokens = estimateTokens(request);
  return {
    model: judge.name,
    step,
    promptBytes: Buffer.byteLength(joinSaid(request.messages)),
    tokens,
    estimatedUsd: findCost(tokens, findPrice(judge.name, registry.prices)),
  };
}

/** UTF-8 bytes per token: below the average of English (4) and JSON, about the average of most other scripts. */
const BYTES_PER_TOKEN = 3;

const TOKENS_PER_MESSAGE = 8;

/** Output tokens expected of a reply before its real length is known. */
const OUTPUT_TOKENS = 500;

/** Estimates the tokens of a call from its messages and the schema sent with them. Decisions write no output. */
function estimateTokens({ messages, responseSchema, decisions }: JudgeCallRequest): TokenEstimate {
  const schema = responseSchema === undefined ? '' : JSON.stringify(responseSchema.jsonSchema);
  const bytes = messages.reduce((sum, { text }) => sum + Buffer.byteLength(text), Buffer.byteLength(schema));
  return {
    inputTokens: Math.ceil(bytes / BYTES_PER_TOKEN) + messages.length * TOKENS_PER_MESSAGE,
    outputTokens: decisions === undefined ? OUTPUT_TOKENS : 0,
  };
}

interface CallTerms {
  readonly planned: PlannedCall;
  readonly begin: CallReservation['begin'];
  /** Books a usage; undefined where the model may have worked but the provider sent no usage. */
  readonly book: (usage: JudgeUsage | undefined) => void;
}

async function callWithinLimits(
  request: JudgeCallRequest,
  deps: JudgeCallDeps,
  { planned: { tokens, estimatedUsd }, begin, book }: CallTerms,
): Promise<AnsweredCall> {
  const { judge, registry, scope, signal, tally } = deps;
  const wanted = { tokens: tokens.inputTokens + tokens.outputTokens, signal };
  const { gate } = judge;
  const permit = await (gate === undefined
    ? undefined
    : (scope.share?.acquire(gate, wanted) ?? gate.acquire(wanted)));
  let usage: JudgeUsage | undefined;
  let ended: 'answered' | 'overloaded' | undefined;
  try {
    await passChecks(deps, begin);
    const record = startRecord(request.messages, deps);
    const reply = await callInTime(request, deps).catch((thrown: unknown) => {
      const fault = toJudgeError(thrown, registry.deps.now());
      if (!fault.isUnbilled) {
        book(undefined);
      }
      ended = FAILURES[fault.code].isCrowded === true ? 'overloaded' : undefined;
      tally.countCall();
      judge.breaker?.ended(fault);
      record({ status: 'failed', reply: fault.rawOutput ?? '', error: fault.message });
      throw fault;
    });
    usage = reply.usage;
    ended = 'answered';
    book(usage);
    const cost = findCost(usage, findPrice(judge.name, registry.prices)) ?? estimatedUsd;
    tally.countCall(reply, cost);
    judge.breaker?.ended();
    return {
      reply,
      record: (error = '') =>
        record({
          status: error === '' ? 'success' : 'unusable',
          reply: reply.text,
          error,
          usage,
          cost,
          servedModel: reply.modelId ?? '',
        }),
    };
  } finally {
    permit?.release(usage?.totalTokens, ended);
  }
}

function rejectBlocked(
  judge: ResolvedJudge,
  blocked: ReturnType<NonNullable<ResolvedJudge['breaker']>['openedBy']>,
): void {
  if (blocked !== undefined) {
    const { failure, remainingMs } = blocked;
    throw new JudgeError(
      failure.code,
      `judge provider "${judge.provider}" gets no calls for now, after repeated failures; the last failure: ${failure.message}`,
      { cause: failure, retryAfterMs: remainingMs, details: failure.details, kind: failure.kind },
    );
  }
}

async function passChecks(
  { judge, scope, registry }: JudgeCallDeps,
  begin: CallReservation['begin'],
): Promise<void> {
  rejectBlocked(judge, judge.breaker?.blocked());
  try {
    await asJudgeError(registry, async () => {
      await begin?.();
      // The last check is that of the lease: the claim of a process that has lost it does not count.
      await scope.beforeCall?.();
    });
  } catch (error) {
    judge.breaker?.abandoned();
    throw error;
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

type CallOutcome = Pick<JudgeCall, 'status' | 'reply' | 'error'> &
  Partial<Pick<JudgeCall, 'usage' | 'cost' | 'servedModel'>>;

/** Starts the record of a call. The returned function passes it to the scope when the call has ended. */
function startRecord(
  messages: readonly ChatMessage[],
  { scope, judge, step, registry }: JudgeCallDeps,
): (outcome: CallOutcome) => void {
  const calledAtMs = registry.deps.now();
  const started = performance.now();
  return ({ status, reply, error, usage, cost, servedModel = '' }) =>
    scope.onCall?.({
      step,
      model: judge.name,
      servedModel,
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
}

/** Joins the messages as the record of a call has them. */
function joinSaid(messages: readonly ChatMessage[]): string {
  return messages
    .filter((message) => message.role !== 'system')
    .map((message) => message.text)
    .join('\n\n');
}

/** Calls, tokens and cost of one question so far. */
export class QuestionTally {
  /** Milliseconds left for the question; waits for the provider's limits do not count. */
  remainingMs: number;
  /** Text of the last answer; undefined before the first. */
  lastText: string | undefined;
  readonly #judge: ResolvedJudge;
  readonly #started = performance.now();
  #usage: JudgeUsage | undefined;
  /** Undefined before the first answer; NaN as soon as one cost is unknown, because the sum of the others would look like the whole. */
  #cost: number | undefined;
  #answers = 0;
  #answeredBy: string | undefined;

  constructor(judge: ResolvedJudge, timeoutMs: number) {
    this.#judge = judge;
    this.remainingMs = timeoutMs;
  }

  spendTime(ms: number): void {
    this.remainingMs -= ms;
  }

  /** Counts a call. A failed call has no reply, so its usage is unknown. */
  countCall(reply?: ModelReply, cost = Number.NaN): void {
    if (reply !== undefined) {
      this.#answers += 1;
      this.lastText = reply.text;
      this.#usage = addUsage(this.#usage, reply.usage);
      this.#cost = (this.#cost ?? 0) + cost;
      this.#answeredBy = reply.modelId ?? this.#answeredBy;
    }
  }

  execution(
    status: JudgeExecution['status'],
    prompt: string,
    attemptCount: number,
    more: Partial<JudgeExecution> = {},
  ): JudgeExecution {
    return {
      status,
      prompt,
      judgeModelId: this.#answeredBy ?? this.#judge.model.modelId,
      judgeProvider: this.#judge.provider,
      ...(this.#usage === undefined ? {} : { usage: this.#usage }),
      attemptCount,
      modelCallCount: this.#answers,
      durationMs: performance.now() - this.#started,
      ...(this.#cost === undefined || Number.isNaN(this.#cost) ? {} : { cost: this.#cost }),
      ...more,
    };
  }
}

/** Adds two usages. A count that only one of them has is taken from that one. */
function addUsage(a: JudgeUsage | undefined, b: JudgeUsage | undefined): JudgeUsage | undefined {
  if (a === undefined || b === undefined) {
    return a ?? b;
  }
  const sums = Object.entries(b).map(([name, count]) => {
    const other = a[name as keyof JudgeUsage];
    return [name, other === undefined ? count : other + (count ?? 0)];
  });
  return Object.fromEntries(sums) as JudgeUsage;
}
