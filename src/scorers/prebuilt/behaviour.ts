import {
  chooseRange,
  LEAST_RUNS,
  MEASURES,
  nameMeasure,
  type AgentPast,
  type Measure,
  computeSurprise,
  writePath,
  writeTimes,
} from '../../domain/behaviour/measures.ts';
import { findAnswerFault } from '../../domain/behaviour/answers.ts';
import { canonicalJson } from '../../domain/identity.ts';
import type { TokenUsage } from '../../domain/trace/agent-run.ts';
import { ANSWER_TOOLS } from '../../domain/trace/messages.ts';
import { isObject } from '../../domain/unknown-values.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { NamedScore, RunnableScorer } from '../evals/scorer.ts';
import { mergeToolInvocations, type LooseInvocation } from '../evals/trajectory.ts';
import { type AgentRunInput, readAnswer } from '../shared/messages.ts';
import { checkOptions, type NoOptions } from '../shared/options.ts';

const ID = 'behaviour';

/** An agent run with what it took. A measure whose fact is absent has no row. */
export interface BehaviourRunInput extends AgentRunInput {
  readonly usage?: Partial<TokenUsage>;
  readonly durationMs?: number;
  readonly costUsd?: number | null;
  /** Reason why the model stopped, as its provider names it: `length`, `max_tokens`. */
  readonly finishReason?: string;
  /** Measures of the runs of the agent in the last week. Absent: the ranges are those of a new agent, and there is no path. */
  readonly past?: AgentPast;
}

/** A measure of one run, and what was found. */
interface Measured {
  readonly score: number;
  readonly reason?: string;
}

type MeasuredRun = Partial<Record<Measure, Measured>>;

export interface BehaviourResults {
  preprocessStepResult: MeasuredRun;
}

/** Measures what a run did, one row for each measure. Uses no judge. */
export function createBehaviourScorer(
  options: NoOptions = {},
): RunnableScorer<BehaviourRunInput, BehaviourResults> {
  checkOptions(ID, options, {});
  return createScorer<BehaviourRunInput['input'], BehaviourRunInput['output']>({
    id: ID,
    name: 'Behaviour',
    description: 'What a run did: its tokens, cost, duration, steps, tool calls and answer',
    namedScoresOnly: true,
    version: '2',
    options: {},
    details: ({ run, results }) => ({
      scores: listScores(
        (results as unknown as BehaviourResults).preprocessStepResult,
        (run as BehaviourRunInput).past,
      ),
    }),
  })
    .preprocess(({ run }) => measure(run as BehaviourRunInput))
    .generateScore(({ results }) => results.preprocessStepResult.answered?.score ?? 0) as RunnableScorer<
    BehaviourRunInput,
    BehaviourResults
  >;
}

function listScores(measured: MeasuredRun, past: AgentPast | undefined): NamedScore[] {
  return MEASURES.flatMap((name) => {
    const found = measured[name];
    if (found === undefined) {
      return [];
    }
    const { score, reason = '' } = found;
    const max = chooseRange(name, past?.measures.get(name));
    return {
      name: nameMeasure(name),
      score,
      label: name === 'answered' ? (score === 1 ? 'answered' : reason) : score > max ? 'high' : 'usual',
      higherIsBetter: name === 'answered',
      range: [0, max] as const,
      ...(reason === '' ? {} : { reason }),
    };
  });
}

function measure(run: BehaviourRunInput): MeasuredRun {
  const { usage, durationMs, costUsd, past, finishReason } = run;
  const { steps, calls, path, answer } = readActs(run);
  const tokens = usage?.totalTokens ?? sumTokens(usage);
  const failed = calls.filter(isFailed);
  const fault = findAnswerFault(answer, finishReason);
  const transitions = past?.transitions;
  return {
    ...(tokens === null ? {} : { tokens: { score: tokens } }),
    ...(typeof costUsd === 'number' ? { cost: { score: costUsd } } : {}),
    ...(durationMs === undefined ? {} : { duration: { score: durationMs / 1_000 } }),
    steps: { score: steps, reason: writePath(path) },
    'tool-calls': { score: calls.length },
    'tool-errors': { score: failed.length, reason: nameCalls(failed) },
    repeats: measureRepeats(calls),
    'answer-length': { score: answer?.length ?? 0 },
    answered: fault === undefined ? { score: 1 } : { score: 0, reason: fault },
    ...(transitions === undefined || transitions.runs < LEAST_RUNS
      ? {}
      : { path: { score: computeSurprise(path, transitions) } }),
  };
}

function sumTokens(usage: BehaviourRunInput['usage']): number | null {
  const { inputTokens = null, outputTokens = null } = usage ?? {};
  return inputTokens === null && outputTokens === null ? null : (inputTokens ?? 0) + (outputTokens ?? 0);
}

/** Steps of the agent, in order. A step is a model call with the tools that it asked for. */
interface Acts {
  readonly steps: number;
  readonly calls: readonly LooseInvocation[];
  /** Names of the called tools, then `answer` if the run ends with one. */
  readonly path: readonly string[];
  /** The answer; null for a run that ends with a tool or without output. */
  readonly answer: string | null;
}

function readActs(run: BehaviourRunInput): Acts {
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
  run: BehaviourRunInput,
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
function isFailed({ state, isError, result }: LooseInvocation): boolean {
  return state === 'output-error' || isError === true || (isObject(result) && Boolean(result['error']));
}

function nameTool({ toolName }: LooseInvocation): string {
  return toolName ?? '?';
}

function measureRepeats(calls: readonly LooseInvocation[]): Measured {
  const times = new Map<string, { call: LooseInvocation; count: number }>();
  for (const call of calls) {
    const key = `${nameTool(call)} ${canonicalJson(call.args ?? null)}`;
    times.set(key, { call, count: (times.get(key)?.count ?? 0) + 1 });
  }
  const repeated = [...times.values()].filter(({ count }) => count > 1);
  return {
    score: repeated.reduce((sum, { count }) => sum + count - 1, 0),
    reason: nameMost(repeated.map(({ call, count }) => [nameTool(call), count])),
  };
}

function nameCalls(calls: readonly LooseInvocation[]): string {
  const groups = Map.groupBy(calls, nameTool);
  return nameMost([...groups].map(([name, list]) => [name, list.length]));
}

/** Most names in a reason. */
const MOST_NAMES = 3;

function nameMost(counts: readonly (readonly [name: string, times: number])[]): string {
  return counts
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, MOST_NAMES)
    .map(([name, times]) => writeTimes(name, times))
    .join(', ');
}
