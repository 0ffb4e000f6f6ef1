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
import type { TokenUsage } from '../../domain/trace/agent-run.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { NamedScore, RunnableScorer } from '../evals/scorer.ts';
import type { LooseInvocation } from '../evals/trajectory.ts';
import { isFailedCall, listRepeats, nameTool, readActs } from '../shared/acts.ts';
import type { AgentRunInput } from '../shared/messages.ts';
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
  const failed = calls.filter(isFailedCall);
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

function measureRepeats(calls: readonly LooseInvocation[]): Measured {
  const repeated = listRepeats(calls);
  return {
    score: repeated.reduce((sum, { count }) => sum + count - 1, 0),
    reason: nameMost(repeated.map(({ tool, count }) => [tool, count])),
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
