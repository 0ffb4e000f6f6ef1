import type { JudgeCallDeps, JudgeCallRequest } from './call-deps.ts';
import { estimateTokens } from './call-estimate.ts';
import { type AnsweredCall, answerCall, joinSaid, startRecord } from './call-record.ts';
import type { CircuitBreaker } from './limits/circuit-breaker.ts';
import type { Permit, ProviderGate } from './limits/provider-gate.ts';
import { JudgeError } from './judge-error.ts';
import type { JudgeUsage } from './judge-execution.ts';
import { toJudgeError } from './judge-fault.ts';
import { findPrice } from '../domain/money/model-prices.ts';
import { findCost } from './judge-cost.ts';
import type { JudgeRegistry, ResolvedJudge } from './judge-registry.ts';
import type { CallReservation, JudgeScope, PlannedCall } from './judge-scope.ts';
import { callModel, type ModelReply } from './model-call.ts';

/**
 * Makes one call to a judge within the limits of its provider and the budget of its rule, and counts it. Records a call without a
 * reply; the record of a reply waits for its reader. Throws `JudgeError`, or the error that `onCall` throws.
 */
export async function callJudge(request: JudgeCallRequest, deps: JudgeCallDeps): Promise<AnsweredCall> {
  const { judge, registry, scope } = deps;
  const price = findPrice(judge.name, registry.prices);
  const planned = planCall(request, deps);
  const { tokens } = planned;
  scope.onPlan?.(planned);
  // Checked first, so that no money is reserved for a call that will not be made.
  rejectBlocked(judge, judge.breaker?.openedBy());
  const reservation = await reserve(planned, scope, registry);
  let costUsd: number | undefined = 0;
  try {
    const total = tokens.inputTokens + tokens.outputTokens;
    return await callWithinLimits(request, deps, {
      tokens: total,
      estimatedUsd: planned.estimatedUsd,
      begin: reservation?.begin,
      book: (bill) => {
        costUsd = bill === 'unknown' ? undefined : findCost(bill, price);
      },
    });
  } finally {
    reservation?.settle(costUsd);
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

/** Bill of a call: its usage, or `unknown` where the model may have worked but the provider sent no usage. */
type Bill = JudgeUsage | 'unknown';

interface CallTerms {
  /** Estimated number of tokens. */
  readonly tokens: number;
  /** Cost of a reply without usage, USD. */
  readonly estimatedUsd: number | undefined;
  readonly begin: CallReservation['begin'];
  readonly book: (bill: Bill) => void;
}

async function callWithinLimits(
  request: JudgeCallRequest,
  deps: JudgeCallDeps,
  { tokens, estimatedUsd, begin, book }: CallTerms,
): Promise<AnsweredCall> {
  const { judge, registry, signal, tally } = deps;
  const permit = await acquire(deps, { tokens, signal });
  let usage: JudgeUsage | undefined;
  let ended: 'answered' | 'overloaded' | undefined;
  try {
    await passChecks(deps, begin);
    const record = startRecord(request.messages, deps);
    const reply = await callInTime(request, deps).catch((thrown: unknown) => {
      const fault = toJudgeError(thrown, registry.deps.now());
      if (!fault.isUnbilled) {
        book('unknown');
      }
      ended = CROWDED.has(fault.code) ? 'overloaded' : undefined;
      tally.countCall();
      reportToBreaker(fault, judge);
      record({ status: 'failed', reply: fault.rawOutput ?? '', error: fault.message });
      throw fault;
    });
    usage = reply.usage;
    ended = 'answered';
    book(usage ?? 'unknown');
    const cost = findCost(usage, findPrice(judge.name, registry.prices)) ?? estimatedUsd;
    tally.countCall(reply, cost);
    judge.breaker?.succeeded();
    return answerCall(reply, cost, record);
  } finally {
    permit?.release(usage?.totalTokens, ended);
  }
}

function acquire(
  { judge: { gate }, scope: { share } }: JudgeCallDeps,
  request: Parameters<ProviderGate['acquire']>[0],
): Promise<Permit> | undefined {
  return gate === undefined || share === undefined ? gate?.acquire(request) : share.acquire(gate, request);
}

async function reserve(
  planned: PlannedCall,
  { reserve: putAside }: JudgeScope,
  { deps }: JudgeRegistry,
): Promise<CallReservation | undefined> {
  try {
    return await putAside?.(planned);
  } catch (thrown) {
    throw toJudgeError(thrown, deps.now());
  }
}

function rejectBlocked(judge: ResolvedJudge, blocked: ReturnType<CircuitBreaker['openedBy']>): void {
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
    await begin?.();
    // The last check is that of the lease: the claim of a process that has lost it does not count.
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

/** Faults of a provider that gets more calls than it takes. */
const CROWDED: ReadonlySet<string> = new Set(['judge_timeout', 'judge_rate_limited']);

function reportToBreaker(fault: JudgeError, judge: ResolvedJudge): void {
  switch (fault.code) {
    case 'judge_unavailable':
    case 'judge_timeout':
    case 'judge_unauthorised':
      judge.breaker?.failed(fault);
      return;
    case 'judge_malformed':
    case 'judge_refused':
    case 'judge_misconfigured':
    case 'judge_window':
    case 'judge_rate_limited':
      judge.breaker?.succeeded();
      return;
    case 'budget_exhausted':
    case 'cancelled':
    case 'overloaded':
      judge.breaker?.abandoned();
  }
}
