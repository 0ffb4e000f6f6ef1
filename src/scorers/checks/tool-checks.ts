import { allBegin, formatCount, formatPart } from '../../domain/plural.ts';
import { listToolInvocations } from '../../evals/trajectory/tool-invocations.ts';
import type { LooseInvocation } from '../../evals/trajectory/tool-invocations.ts';
import { isAmount, isText, isTextList } from '../prebuilt/shared/checked-options.ts';
import type { NoOptions } from '../prebuilt/shared/checked-options.ts';
import { nameTexts } from '../prebuilt/shared/name-findings.ts';
import { isSubsequence } from '../utils/is-subsequence.ts';
import { extractToolCalls } from '../utils/tool-calls.ts';
import { createCheck } from './check-scorer.ts';
import type { CheckScorer } from './check-scorer.ts';
import { listMessages } from './messages-of.ts';
import type { AgentRunInput } from '../utils/agent-run-input.ts';
import { isObject } from '../../domain/unknown-values.ts';

interface Passed {
  passed: boolean;
}

const ERROR_STATES: ReadonlySet<unknown> = new Set(['call', 'output-error']);

/** Passes when a tool was called at least `times` times. */
export function calledTool(
  toolName: string,
  options: { readonly times?: number } = {},
): CheckScorer<Passed & { toolName: string; expectedTimes: number; actualCount: number }> {
  const { times = 1 } = options;
  return createCheck({
    id: 'called-tool',
    name: 'Called Tool',
    description: 'Whether a tool was called',
    options: { toolName, times },
    given: { ...options, toolName },
    rules: { toolName: isText, times: isAmount },
    needs: ['toolName'],
    look: (run) => {
      const actualCount = countCalls(run, toolName);
      return { toolName, expectedTimes: times, actualCount, passed: actualCount >= times };
    },
    score: ({ passed }) => Number(passed),
    reason: ({ actualCount }) =>
      `${nameTexts([toolName])} was called ${formatCount(actualCount, 'time')}; at least ${times} is expected.`,
  });
}

/** Passes when a tool was not called. */
export function didNotCall(toolName: string): CheckScorer<Passed & { toolName: string; count: number }> {
  return createCheck({
    id: 'did-not-call',
    name: 'Did Not Call',
    description: 'Whether a tool was left alone',
    options: { toolName },
    given: { toolName },
    rules: { toolName: isText },
    needs: ['toolName'],
    look: (run) => {
      const count = countCalls(run, toolName);
      return { toolName, count, passed: count === 0 };
    },
    score: ({ passed }) => Number(passed),
    reason: ({ count }) =>
      `${nameTexts([toolName])} was ${count === 0 ? 'not called' : `called ${formatCount(count, 'time')}`}.`,
  });
}

/** Passes when the tools were called in this order; calls of other tools between them are allowed. */
export function toolOrder(
  expectedOrder: readonly string[],
): CheckScorer<Passed & { actualTools: string[]; expectedOrder: readonly string[] }> {
  return createCheck({
    id: 'tool-order',
    name: 'Tool Order',
    description: 'Whether tools were called in a given order',
    options: { expectedOrder },
    given: { expectedOrder },
    rules: { expectedOrder: isTextList },
    needs: ['expectedOrder'],
    look: (run) => {
      const actualTools = listTools(run);
      return { actualTools, expectedOrder, passed: isSubsequence(expectedOrder, actualTools) };
    },
    score: ({ passed }) => Number(passed),
    reason: ({ passed, actualTools }) =>
      passed
        ? `The tools were called in this order: ${nameTexts(expectedOrder)}.`
        : `The tools were not called in this order: ${nameTexts(expectedOrder)}; called: ${nameTexts(actualTools) || 'none'}.`,
  });
}

/** Passes when at most `max` tools were called. */
export function maxToolCalls(max: number): CheckScorer<Passed & { count: number; max: number }> {
  return createCheck({
    id: 'max-tool-calls',
    name: 'Max Tool Calls',
    description: 'Whether the run kept to a number of tool calls',
    options: { max },
    given: { max },
    rules: { max: isAmount },
    needs: ['max'],
    look: (run) => {
      const count = listTools(run).length;
      return { count, max, passed: count <= max };
    },
    score: ({ passed }) => Number(passed),
    reason: ({ count }) => `The run made ${formatCount(count, 'tool call')}; at most ${max} are allowed.`,
  });
}

/** Passes when no tool was called. */
export function usedNoTools(options: NoOptions = {}): CheckScorer<Passed & { count: number }> {
  return createCheck({
    id: 'used-no-tools',
    name: 'Used No Tools',
    description: 'Whether the run did without tools',
    options: {},
    given: options,
    rules: {},
    look: (run) => {
      const count = listTools(run).length;
      return { count, passed: count === 0 };
    },
    score: ({ passed }) => Number(passed),
    reason: ({ count }) => `The run made ${count === 0 ? 'no tool calls' : formatCount(count, 'tool call')}.`,
  });
}

/** Passes when every tool call has an answer and none failed. */
export function noToolErrors(
  options: NoOptions = {},
): CheckScorer<Passed & { errorCount: number; totalCalls: number }> {
  return createCheck({
    id: 'no-tool-errors',
    name: 'No Tool Errors',
    description: 'Whether every tool call was answered without an error',
    options: {},
    given: options,
    rules: {},
    look: ({ output }) => {
      const invocations = listToolInvocations(listMessages(output));
      const errorCount = invocations.filter(isFailed).length;
      return { errorCount, totalCalls: invocations.length, passed: errorCount === 0 };
    },
    score: ({ passed }) => Number(passed),
    reason: ({ errorCount, totalCalls }, run) =>
      errorCount === 0
        ? `${totalCalls === 0 ? 'No tool was called' : allBegin(totalCalls, 'tool call', ['has a result', 'have a result'])}.`
        : `${formatPart(errorCount, totalCalls, 'tool call')} failed or got no result: ${nameTexts(listFailed(run))}.`,
  });
}

function isFailed({ state, isError, result }: LooseInvocation): boolean {
  return ERROR_STATES.has(state) || isError === true || (isObject(result) && Boolean(result['error']));
}

function listFailed({ output }: AgentRunInput): string[] {
  return listToolInvocations(listMessages(output))
    .filter(isFailed)
    .map(({ toolName }) => toolName ?? 'a tool without a name');
}

function listTools({ output }: AgentRunInput): string[] {
  return extractToolCalls(listMessages(output)).tools;
}

function countCalls(run: AgentRunInput, toolName: string): number {
  return listTools(run).filter((tool) => tool === toolName).length;
}
