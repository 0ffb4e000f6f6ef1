import { InvalidInputError } from '../../domain/errors.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { Verdict } from '../../domain/score.ts';
import type { RunnableScorer } from '../evals/scorer.ts';
import { ScorerError } from '../evals/scorer-error.ts';
import { isSubsequence, nameTexts } from '../shared/texts.ts';
import { extractToolCalls, type ToolCallInfo } from '../shared/trajectories.ts';
import type { AgentRunInput } from '../shared/messages.ts';
import { checkOptions } from '../shared/options.ts';
import { findNoExpectation, TOOL_CALL_ACCURACY_OPTIONS } from './definitions.ts';

const ID = 'code-tool-call-accuracy-scorer';

export interface ToolCallAccuracyOptions {
  /** The tool that must be called. Either this or `expectedToolOrder` is required. */
  readonly expectedTool?: string;
  /** The tools that must be called in this order; replaces `expectedTool` unless it is empty. */
  readonly expectedToolOrder?: readonly string[];
  /** True: no other tool may be called. Default false. */
  readonly strictMode?: boolean;
}

interface ToolCallAccuracyResults {
  preprocessStepResult: {
    expectedTool: string | undefined;
    actualTools: string[];
    strictMode: boolean;
    expectedToolOrder: readonly string[] | undefined;
    hasToolCalls: boolean;
    correctToolCalled: boolean;
    toolCallInfos: ToolCallInfo[];
    /** Null without an expected order. */
    correctOrderCalled: boolean | null;
  };
}

/** Scores 1 when the run called the expected tools, else 0. */
export function createToolCallAccuracyScorerCode(
  options: ToolCallAccuracyOptions,
): RunnableScorer<AgentRunInput, ToolCallAccuracyResults> {
  checkOptions(ID, options, TOOL_CALL_ACCURACY_OPTIONS);
  const { expectedTool, expectedToolOrder, strictMode = false } = options;
  const missing = findNoExpectation(options);
  if (missing !== undefined) {
    throw new ScorerError(`Scorer "${ID}" ${missing}`, {
      id: 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_OPTIONS',
      details: { scorerId: ID },
    });
  }
  const ordered = expectedToolOrder !== undefined && expectedToolOrder.length > 0;
  return createScorer({
    id: ID,
    name: 'Tool Call Accuracy Scorer',
    description: 'Whether the run called the tools that it was to call',
    type: 'agent',
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'fail', upTo: 0 }, { label: 'pass' }],
    version: '1',
    options: { expectedTool, expectedToolOrder, strictMode },
    details: ({ results }) => ({
      verdicts: listFaults(
        ordered ? expectedToolOrder : [expectedTool ?? ''],
        (results as ToolCallAccuracyResults).preprocessStepResult,
      ),
    }),
  })
    .preprocess(({ run }) => {
      const { tools: actualTools, toolCallInfos } = extractToolCalls(listMessages(run));
      return {
        expectedTool,
        actualTools,
        strictMode,
        expectedToolOrder,
        hasToolCalls: actualTools.length > 0,
        correctToolCalled: isToolCalled(expectedTool, actualTools, strictMode),
        toolCallInfos,
        correctOrderCalled:
          expectedToolOrder === undefined ? null : isOrderKept(expectedToolOrder, actualTools, strictMode),
      };
    })
    .generateScore(({ results }) => {
      const { hasToolCalls, correctOrderCalled, correctToolCalled } = results.preprocessStepResult;
      return hasToolCalls && (ordered ? correctOrderCalled : correctToolCalled) ? 1 : 0;
    })
    .generateReason(({ score, results: { preprocessStepResult: found } }) =>
      explain(score === 1, ordered ? expectedToolOrder : [expectedTool ?? ''], found),
    );
}

/** Lists the tools that were not called, out of order, or, in strict mode, called without need. */
function listFaults(
  expected: readonly string[],
  { actualTools, strictMode }: ToolCallAccuracyResults['preprocessStepResult'],
): Verdict[] {
  const missing = expected.filter((tool) => !actualTools.includes(tool));
  const isMoved = missing.length === 0 && !isSubsequence(expected, actualTools);
  return [
    ...missing.map((statement) => ({ statement, verdict: 'missing' })),
    ...(isMoved ? expected.slice(0, 1).map((statement) => ({ statement, verdict: 'out of order' })) : []),
    ...(strictMode ? actualTools.filter((tool) => !expected.includes(tool)) : []).map((statement) => ({
      statement,
      verdict: 'unneeded',
    })),
  ];
}

function explain(
  isRight: boolean,
  expected: readonly string[],
  { actualTools, strictMode }: ToolCallAccuracyResults['preprocessStepResult'],
): string {
  const what = `${strictMode ? 'exactly ' : ''}${nameTexts(expected)}`;
  return isRight
    ? `The tools were called as expected: ${what}.`
    : `The tools were not called as expected: ${what}; called: ${nameTexts(actualTools) || 'none'}.`;
}

function listMessages({ input, output }: AgentRunInput): readonly unknown[] {
  if (!Array.isArray(input?.inputMessages) || input.inputMessages.length === 0) {
    throw new InvalidInputError('run.input.inputMessages is missing or empty');
  }
  if (!Array.isArray(output) || output.length === 0) {
    throw new InvalidInputError('run.output is missing or empty');
  }
  return output;
}

function isToolCalled(expected: string | undefined, actual: readonly string[], strict: boolean): boolean {
  if (expected === undefined) {
    return false;
  }
  return strict ? actual.length === 1 && actual[0] === expected : actual.includes(expected);
}

function isOrderKept(expected: readonly string[], actual: readonly string[], strict: boolean): boolean {
  return isSubsequence(expected, actual) && (!strict || actual.length === expected.length);
}
