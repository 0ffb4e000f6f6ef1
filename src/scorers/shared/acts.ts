import { canonicalJson } from '../../domain/identity.ts';
import type { RecordedCall } from '../../domain/issue-case.ts';
import { ANSWER_TOOLS } from '../../domain/trace/messages.ts';
import { isObject } from '../../domain/unknown-values.ts';
import { mergeToolInvocations, type LooseInvocation } from '../evals/trajectory.ts';
import { type AgentRunInput, readAnswer } from './messages.ts';

/** Steps of the agent, in order. A step is a model call with the tools that it asked for. */
export interface Acts {
  readonly steps: number;
  readonly calls: readonly LooseInvocation[];
  /** Names of the called tools, then `answer` if the run ends with one. */
  readonly path: readonly string[];
  /** The answer; null for a run that ends with a tool or without output. */
  readonly answer: string | null;
}

export function readActs(run: AgentRunInput): Acts {
  const messages = (Array.isArray(run.output) ? run.output : []).filter(({ role }) => role === 'assistant');
  const parts = messages.map(listParts);
  const all = messages.flatMap((message) => mergeToolInvocations(message));
  const transfers = new Set(
    parts.flat().flatMap((part) => (part['handoff'] === true ? [part['toolInvocation']] : [])),
  );
  const calls = all.filter((call) => !transfers.has(call) && !ANSWER_TOOLS.has(nameTool(call)));
  const answer = findAnswer(
    run,
    parts.flat(),
    all.findLast((call) => ANSWER_TOOLS.has(nameTool(call))),
  );
  return {
    steps: parts.reduce((sum, list) => sum + 1 + list.filter(({ type }) => type === 'step-start').length, 0),
    calls,
    path: [...calls.map(nameTool), ...(answer === null || answer.trim() === '' ? [] : ['answer'])],
    answer,
  };
}

function findAnswer(
  run: AgentRunInput,
  parts: readonly Record<string, unknown>[],
  returned: LooseInvocation | undefined,
): string | null {
  const last = parts.findLast(({ type }) => type === 'text' || type === 'tool-invocation');
  const answer = readAnswer(run);
  if (last?.['type'] === 'tool-invocation') {
    return returned === undefined ? null : answer || (JSON.stringify(returned.args) ?? '');
  }
  return answer === '' && last === undefined && isNothing(run.output) ? null : answer;
}

function isNothing(output: unknown): boolean {
  return output === undefined || output === null || (Array.isArray(output) && output.length === 0);
}

function listParts(message: unknown): Record<string, unknown>[] {
  const content = isObject(message) ? message['content'] : undefined;
  const parts = isObject(content) ? content['parts'] : undefined;
  return Array.isArray(parts) ? parts.filter(isObject) : [];
}

/** Returns true for a call with an error. A call without a result may only lack its record. */
export function isFailedCall({ state, isError, result }: LooseInvocation): boolean {
  return state === 'output-error' || isError === true || (isObject(result) && Boolean(result['error']));
}

export function nameTool({ toolName }: LooseInvocation): string {
  return toolName ?? '?';
}

/** Lists the calls that a run made more than once: the same tool with equal arguments. */
export function listRepeats(
  calls: readonly LooseInvocation[],
): { readonly tool: string; readonly count: number }[] {
  const times = new Map<string, { tool: string; count: number }>();
  for (const call of calls) {
    const tool = nameTool(call);
    const key = `${tool} ${canonicalJson(call.args ?? null)}`;
    times.set(key, { tool, count: (times.get(key)?.count ?? 0) + 1 });
  }
  return [...times.values()].filter(({ count }) => count > 1);
}

/** Reads a call with its end: a result, or an error. */
export function readRecordedCall(call: LooseInvocation): RecordedCall {
  const { args, result, state, errorText } = call;
  return {
    toolName: nameTool(call),
    args: isObject(args) ? args : args === undefined || args === null ? {} : { value: args },
    result: result ?? null,
    ...(state === 'output-error' ? { error: errorText ?? 'the tool failed' } : {}),
  };
}
