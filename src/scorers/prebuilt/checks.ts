import { InvalidInputError } from '../../domain/errors.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { RunnableScorer } from '../evals/scorer.ts';
import {
  checkGiven,
  checkOptions,
  type OptionRules,
  isBoolean,
  isShare,
  isText,
  isAmount,
  isTextList,
  type NoOptions,
} from '../shared/options.ts';
import { type AgentRunInput, extractAgentResponseMessages } from '../shared/messages.ts';
import { types } from 'node:util';
import { reaches } from '../../domain/limits.ts';
import { nameTexts, composeText, formatPercent, textSimilarity, isSubsequence } from '../shared/texts.ts';
import { allBegin, formatCount, formatPart } from '../../domain/plural.ts';
import { listToolInvocations, type LooseInvocation } from '../evals/trajectory.ts';
import { extractToolCalls } from '../shared/trajectories.ts';
import { isObject } from '../../domain/unknown-values.ts';

/**
 * Lists the messages of a run's output; empty for a run without output. Throws for an output that is no list, because any
 * result would be a guess.
 */
function listMessages(output: unknown): readonly unknown[] {
  if (output !== undefined && output !== null && !Array.isArray(output)) {
    throw new InvalidInputError('run.output must be the output of an agent run: a list of messages');
  }
  return output ?? [];
}

/** A scorer that checks one run without a judge. */
export type CheckScorer<T> = RunnableScorer<AgentRunInput, { preprocessStepResult: T }>;

interface CheckSpec<T> {
  /** Id without the prefix `check-`. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Options with their defaults: part of the fingerprint. */
  readonly options: object;
  /** Options as the user gave them. */
  readonly given: object;
  readonly rules: OptionRules;
  /** Version of the check; default `1`. */
  readonly version?: string;
  /** Facts of a run that the check needs. */
  readonly needs?: readonly string[];
  look(run: AgentRunInput): T;
  /** Computes the score: 1 for passed and 0 for failed, unless the check measures something. */
  score(found: T): number;
  /** Describes the finding in a sentence. */
  reason(found: T, run: AgentRunInput): string;
}

/** Creates a check: it examines the run, and returns its finding and a score. Throws `ScorerError` for invalid options. */
function createCheck<T>(spec: CheckSpec<T>): CheckScorer<T> {
  const id = `check-${spec.id}`;
  checkOptions(id, spec.given, spec.rules);
  checkGiven(id, spec.given, spec.needs ?? []);
  return createScorer({
    id,
    name: `${spec.name} Check`,
    description: spec.description,
    type: 'agent',
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'fail', below: 1 }, { label: 'pass' }],
    version: spec.version ?? '1',
    options: spec.options,
  })
    .preprocess(({ run }) => spec.look(run))
    .generateScore(({ results }) => spec.score(results.preprocessStepResult as T))
    .generateReason(({ results, run }) => spec.reason(results.preprocessStepResult, run));
}

interface CaseOptions {
  /** Default true. */
  readonly ignoreCase?: boolean;
}

/** Passes when the answer contains `target`. */
export function includes(
  target: string,
  options: CaseOptions = {},
): CheckScorer<{ output: string; target: string; found: boolean }> {
  const { ignoreCase = true } = options;
  return createCheck({
    id: 'includes',
    name: 'Includes',
    description: 'Whether the answer holds a text',
    options: { target, ignoreCase },
    ...asked(target, options),
    look: (run) => {
      const texts = fold({ output: readAnswer(run, ' '), target }, ignoreCase);
      return { ...texts, found: texts.output.includes(texts.target) };
    },
    score: ({ found }) => Number(found),
    reason: ({ found }) => `The answer ${found ? 'contains' : 'does not contain'} ${quote(target)}.`,
  });
}

/** Passes when the answer does not contain `target`. */
export function excludes(
  target: string,
  options: CaseOptions = {},
): CheckScorer<{ output: string; target: string; excluded: boolean }> {
  const { ignoreCase = true } = options;
  return createCheck({
    id: 'excludes',
    name: 'Excludes',
    description: 'Whether the answer is free of a text',
    options: { target, ignoreCase },
    ...asked(target, options),
    look: (run) => {
      const texts = fold({ output: readAnswer(run, ' '), target }, ignoreCase);
      return { ...texts, excluded: !texts.output.includes(texts.target) };
    },
    score: ({ excluded }) => Number(excluded),
    reason: ({ excluded }) => `The answer ${excluded ? 'does not contain' : 'contains'} ${quote(target)}.`,
  });
}

/** Passes when the answer equals `target`, white space included. */
export function equals(
  target: string,
  options: CaseOptions = {},
): CheckScorer<{ output: string; target: string; isEqual: boolean }> {
  const { ignoreCase = true } = options;
  return createCheck({
    id: 'equals',
    name: 'Equals',
    description: 'Whether the answer is a given text',
    options: { target, ignoreCase },
    ...asked(target, options),
    look: (run) => {
      const texts = fold({ output: readAnswer(run, ''), target }, ignoreCase);
      return { ...texts, isEqual: texts.output === texts.target };
    },
    score: ({ isEqual }) => Number(isEqual),
    reason: ({ isEqual }) => `The answer is ${isEqual ? '' : 'not '}${quote(target)}.`,
  });
}

/**
 * Passes when the pattern matches somewhere in the answer or, with `exact`, the whole answer. `exact` anchors the pattern as it
 * is written, so alternatives need a group, `/(?:a|b)/`. Keeps no state between runs.
 */
export function matches(
  pattern: RegExp,
  options: { readonly exact?: boolean } = {},
): CheckScorer<{ output: string; pattern: string; matched: boolean }> {
  const { exact = false } = options;
  return createCheck({
    id: 'matches',
    name: 'Matches',
    description: 'Whether the answer matches a pattern',
    options: { pattern, exact },
    given: { ...options, pattern },
    rules: { pattern: isPattern, exact: isBoolean },
    needs: ['pattern'],
    version: TEXT_CHECK_VERSION,
    look: (run) => {
      const output = readAnswer(run, '');
      const matched = [
        [pattern.source, output],
        [composeText(pattern.source), composeText(output)],
      ].some(([source = '', text = '']) => stateless(source, pattern.flags, exact).test(text));
      return { output, pattern: String(pattern), matched };
    },
    score: ({ matched }) => Number(matched),
    reason: ({ matched }) =>
      `The pattern ${nameTexts([String(pattern)])} ${matched ? 'matches' : 'does not match'} the answer.`,
  });
}

/** Measures the similarity of the answer and `target`, 0 to 1. With a threshold the score is 1 when it is reached, else 0. */
export function similarity(
  target: string,
  options: CaseOptions & { readonly threshold?: number } = {},
): CheckScorer<{ output: string; target: string; score: number; threshold: number | undefined }> {
  const { ignoreCase = true, threshold } = options;
  return createCheck({
    id: 'similarity',
    name: 'Similarity',
    description: 'How much the answer looks like a text',
    options: { target, ignoreCase, threshold },
    ...asked(target, options, { threshold: isShare }),
    look: (run) => {
      const texts = fold({ output: readAnswer(run, ' '), target }, ignoreCase);
      return { ...texts, score: textSimilarity(texts.output, texts.target), threshold };
    },
    score: ({ score }) => (threshold === undefined ? score : Number(reaches(score, threshold))),
    reason: ({ score }) =>
      `The answer shares ${formatPercent(score)} of the letter pairs with ${quote(target)}${threshold === undefined ? '' : `; the threshold is ${formatPercent(threshold)}`}.`,
  });
}

/** Version of the checks of texts: equal texts are equal in any normal form. */
const TEXT_CHECK_VERSION = '2';

const isPattern = { fits: types.isRegExp, is: 'a regular expression' };

/** Checks the options of a text check. */
function asked(target: string, options: CaseOptions, more: OptionRules = {}) {
  return {
    given: { ...options, target },
    rules: { target: isText, ignoreCase: isBoolean, ...more },
    needs: ['target'],
    version: TEXT_CHECK_VERSION,
  };
}

/** Builds a pattern without the flags that make a match depend on the previous one. */
function stateless(source: string, flags: string, exact: boolean): RegExp {
  return new RegExp(exact ? `^${source}$` : source, flags.replace(/[gy]/g, ''));
}

function readAnswer({ output }: { readonly output?: unknown }, separator: string): string {
  if (output === undefined || output === null || typeof output === 'string') {
    return output ?? '';
  }
  return extractAgentResponseMessages(listMessages(output)).join(separator);
}

function fold(texts: { output: string; target: string }, ignoreCase: boolean): typeof texts {
  const [output, target] = [composeText(texts.output), composeText(texts.target)];
  return ignoreCase ? { output: output.toLowerCase(), target: target.toLowerCase() } : { output, target };
}

function quote(target: string): string {
  return `"${nameTexts([target])}"`;
}

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

/** All checks by name. */
export const checks = {
  includes,
  excludes,
  equals,
  matches,
  similarity,
  calledTool,
  didNotCall,
  toolOrder,
  maxToolCalls,
  usedNoTools,
  noToolErrors,
} as const;
