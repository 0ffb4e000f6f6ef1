import { findPrice } from '../../domain/money/model-prices.ts';
import { type AnsweredCall, answerCall, startRecord } from '../call-record.ts';
import type { JudgeCallDeps, JudgeCallRequest } from '../call-deps.ts';
import { findCost } from '../judge-cost.ts';
import { toJudgeError } from '../judge-fault.ts';
import { callModel } from '../model-call.ts';
import { BATCH_PRICE_SHARE, type BatchSeat } from './batch-seat.ts';
import { callFromSeat } from './batched-fetch.ts';

/**
 * Makes a call whose reply comes from a batch: no limit of the provider applies, and the money is booked when the reply is imported.
 * Throws `JudgeError`; one with the code `cancelled` while the reply has not come.
 */
export async function callFromBatch(
  request: JudgeCallRequest,
  deps: JudgeCallDeps,
  seat: BatchSeat,
): Promise<AnsweredCall> {
  const { judge, registry, signal, tally } = deps;
  const record = startRecord(request.messages, deps);
  try {
    const call = { seat, fenceCode: deps.scope.fenceCode };
    const reply = await callFromSeat(call, () => callModel(judge.model, { ...request, signal }));
    const listed = findCost(reply.usage, findPrice(judge.name, registry.prices));
    const cost = listed === undefined ? undefined : listed * BATCH_PRICE_SHARE;
    tally.countCall(reply, cost);
    return answerCall(reply, cost, record);
  } catch (thrown) {
    const fault = toJudgeError(thrown, registry.deps.now());
    if (!seat.isParked) {
      tally.countCall();
      record({ status: 'failed', reply: fault.rawOutput ?? '', error: fault.message });
    }
    throw fault;
  }
}
