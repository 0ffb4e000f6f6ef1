import { setTimeout as sleep } from 'node:timers/promises';
import type { JudgeCallDeps, JudgeCallRequest } from './call-deps.ts';
import type { AnsweredCall } from './call-record.ts';
import { callJudge } from './judge-call.ts';
import { JudgeError } from './judge-error.ts';
import { noteThoughts, thinkingRoom } from './output-limit.ts';
import { isSchemaRefusal } from './fault-words.ts';

/** Most models that are remembered. Beyond it the oldest is forgotten; at worst one more call is refused. */
const MAX_REMEMBERED = 1000;

const remembered = new Map<string, RefusedSettings>();

/**
 * Calls a model until it replies. Repeats transport faults within limits, and leaves out settings that the model refuses. A
 * `Retry-After` beyond the limit is not waited for: the caller gets it with the error.
 */
export async function callRepeatedly(
  request: JudgeCallRequest,
  maxRetries: number,
  deps: JudgeCallDeps,
): Promise<AnsweredCall> {
  for (let repeats = 0; ;) {
    const { name } = deps.judge;
    const refused = readRefusedSettings(name);
    const responseSchema = refused.responseSchema ? undefined : request.responseSchema;
    const temperature = refused.temperature ? undefined : request.temperature;
    const maxOutputTokens = refused.maxOutputTokens ? undefined : limitOutput(request, deps);
    try {
      const question = { messages: request.messages, responseSchema, temperature, maxOutputTokens };
      const answered = await callWithinWindow(question, deps);
      noteThoughts(name, answered.reply);
      return answered;
    } catch (thrown) {
      const fault = thrown as JudgeError;
      const sent = {
        temperature: temperature !== undefined,
        responseSchema: responseSchema !== undefined,
        maxOutputTokens: maxOutputTokens !== undefined,
      };
      if (!(thrown instanceof JudgeError) || !rememberRefusal(name, fault, sent)) {
        await waitBeforeRepeat(fault, { repeats, maxRetries }, deps);
        repeats += 1;
      }
    }
  }
}

function limitOutput(request: JudgeCallRequest, { judge }: JudgeCallDeps): number | undefined {
  const { maxOutputTokens: most } = request;
  const needed = most === undefined ? undefined : most + thinkingRoom(judge.name);
  const wanted = judge.options.maxOutputTokens ?? needed;
  return wanted === undefined ? undefined : (judge.window?.limitReply(wanted, request) ?? wanted);
}

/** Makes a call, and refuses a question that the judge's server does not read whole. */
async function callWithinWindow(request: JudgeCallRequest, deps: JudgeCallDeps): Promise<AnsweredCall> {
  const { window } = deps.judge;
  window?.rejectTooLong(request);
  const answered = await callJudge(request, deps).catch((thrown: unknown) => {
    throw (thrown instanceof JudgeError ? window?.readRefusal(thrown, request) : undefined) ?? thrown;
  });
  const fault = window?.checkReply(request, answered.reply);
  if (fault !== undefined) {
    answered.record(fault.message);
    throw fault;
  }
  return answered;
}

async function waitBeforeRepeat(
  fault: JudgeError,
  { repeats, maxRetries }: { repeats: number; maxRetries: number },
  { judge, registry, signal, tally }: JudgeCallDeps,
): Promise<void> {
  const { limits, deps } = registry;
  if (!fault.repeatable || repeats >= maxRetries) {
    throw fault;
  }
  // Half of the wait is fixed, half random, so that callers which failed together do not retry together.
  const backoffMs = limits.firstRetryMs * 2 ** repeats * (0.5 + deps.random() / 2);
  const waitMs = Math.max(Math.min(backoffMs, limits.maxRetryWaitMs), fault.retryAfterMs ?? 0);
  if (waitMs > limits.maxRetryWaitMs || waitMs >= tally.remainingMs) {
    throw fault;
  }
  if (fault.code === 'judge_rate_limited') {
    judge.gate?.pause(waitMs);
  }
  tally.spendTime(waitMs);
  try {
    await sleep(waitMs, undefined, { signal });
  } catch (cause) {
    throw new JudgeError('cancelled', 'the question to the judge was cancelled', { cause });
  }
}

/** Settings that a model refused. */
interface RefusedSettings {
  temperature: boolean;
  responseSchema: boolean;
  maxOutputTokens: boolean;
}

/** Returns the refused settings of a model by its key: provider/model for named judges, the object's own names otherwise. */
function readRefusedSettings(model: string): Readonly<RefusedSettings> {
  return remembered.get(model) ?? { temperature: false, responseSchema: false, maxOutputTokens: false };
}

/**
 * Remembers a setting that the model refuses, and returns true: the call may be repeated without it. Providers name the setting in
 * the message. Returns false for any other error.
 */
function rememberRefusal(model: string, error: JudgeError, sent: Readonly<RefusedSettings>): boolean {
  const status = Number(error.details['status']);
  if (error.code !== 'judge_misconfigured' && error.code !== 'judge_unavailable') {
    return false;
  }
  const said = `${error.message} ${String(error.details['body'])}`;
  const refused = { ...readRefusedSettings(model) };
  const isRefusedRequest = status === 400 || status === 422;
  if (sent.temperature && isRefusedRequest && /temperature/i.test(said)) {
    refused.temperature = true;
  } else if (sent.maxOutputTokens && isRefusedRequest && /max_?(?:\w+_)?tokens/i.test(said)) {
    refused.maxOutputTokens = true;
  } else if (sent.responseSchema && isSchemaRefusal(said, status)) {
    refused.responseSchema = true;
  } else {
    return false;
  }
  remembered.delete(model);
  remembered.set(model, refused);
  const oldest = remembered.keys().next().value;
  if (remembered.size > MAX_REMEMBERED && oldest !== undefined) {
    remembered.delete(oldest);
  }
  return true;
}
