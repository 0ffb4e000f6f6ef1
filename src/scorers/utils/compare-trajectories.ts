import { canonicalJson } from '../../domain/identity.ts';
import type {
  ExpectedStep,
  StepOrdering,
  TrajectoryStep,
  TrajectoryStepType,
} from '../../evals/trajectory/trajectory.ts';
import { roundToTwoDecimals } from './numbers.ts';

export interface TrajectoryComparisonOptions {
  /** Default `relaxed`. */
  readonly ordering?: StepOrdering | undefined;
  /** Default true. */
  readonly allowRepeatedSteps?: boolean | undefined;
}

/**
 * Result of a comparison. Steps are listed by name; a name is repeated for each time that it was missing, extra or out of
 * order.
 */
export interface TrajectoryComparison {
  /** 0 to 1, two decimals. */
  score: number;
  matchedSteps: number;
  totalExpectedSteps: number;
  totalActualSteps: number;
  missingSteps: string[];
  /** Steps whose name is not expected. */
  extraSteps: string[];
  outOfOrderSteps: string[];
  /** Names that occur more than once; each is listed once. */
  repeatedSteps: string[];
}

/** Share of the score that one extra step costs, per expected step, when the order is strict. */
const EXTRA_STEP_COST = 0.5;
const REPEATED_NAME_COST = 0.1;
const TOOL_FIELDS = ['toolArgs', 'toolResult', 'success'];

/** Fields that are compared when a step is expected with its type; all other fields are ignored. */
const COMPARED_FIELDS: Readonly<Record<TrajectoryStepType, readonly string[]>> = {
  tool_call: TOOL_FIELDS,
  mcp_tool_call: [...TOOL_FIELDS, 'mcpServer'],
  provider_tool_call: TOOL_FIELDS,
  model_generation: ['modelId', 'promptTokens', 'completionTokens', 'finishReason'],
  agent_run: ['agentId'],
  workflow_step: ['stepId', 'status', 'output'],
  workflow_run: ['workflowId', 'status'],
  workflow_conditional: ['conditionCount', 'selectedSteps'],
  workflow_parallel: ['branchCount', 'parallelSteps'],
  workflow_loop: ['loopType', 'totalIterations'],
  workflow_sleep: ['sleepDurationMs', 'sleepType'],
  workflow_wait_event: ['eventName', 'eventReceived'],
  processor_run: ['processorId'],
};

/** Compares the taken steps with the expected steps: matched ÷ expected, minus the cost of extra and repeated steps. */
export function compareTrajectories(
  actual: { readonly steps: readonly TrajectoryStep[] },
  expected: { readonly steps: readonly ExpectedStep[] },
  { ordering = 'relaxed', allowRepeatedSteps = true }: TrajectoryComparisonOptions = {},
): TrajectoryComparison {
  const names = actual.steps.map(({ name }) => name);
  const expectedNames = new Set(expected.steps.map(({ name }) => name));
  const matches = MATCHERS[ordering](actual.steps, expected.steps);
  const unmatched = expected.steps.filter((_step, index) => matches[index] === undefined);
  const matchedSteps = expected.steps.length - unmatched.length;
  const repeatedSteps = [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
  const inOrderOfFirstUse = [...new Set(names)].filter((name) => repeatedSteps.includes(name));
  const share = computeShare(matchedSteps, expected.steps.length, names.length, ordering);
  const repeatCost = allowRepeatedSteps ? 0 : REPEATED_NAME_COST * repeatedSteps.length;
  return {
    score: roundToTwoDecimals(Math.max(0, share - repeatCost)),
    matchedSteps,
    totalExpectedSteps: expected.steps.length,
    totalActualSteps: names.length,
    missingSteps: unmatched.map(({ name }) => name),
    extraSteps: names.filter((name) => !expectedNames.has(name)),
    outOfOrderSteps: outOfOrder(ordering, names, matches, unmatched, expectedNames),
    repeatedSteps: inOrderOfFirstUse,
  };
}

/** Index of the matching taken step, by expected step. */
type Matches = readonly (number | undefined)[];
type Matcher = (actual: readonly TrajectoryStep[], expected: readonly ExpectedStep[]) => Matches;

const MATCHERS: Readonly<Record<StepOrdering, Matcher>> = {
  strict: (actual, expected) =>
    expected.map((step, index) => (isMatch(actual[index], step) ? index : undefined)),
  relaxed: (actual, expected) => {
    let from = 0;
    return expected.map((step) => {
      const found = actual.findIndex((taken, index) => index >= from && isMatch(taken, step));
      if (found < 0) {
        return undefined;
      }
      from = found + 1;
      return found;
    });
  },
  unordered: matchUnordered,
};

/** Matches each expected step with the first unused step that fits. */
export function matchUnordered(
  actual: readonly TrajectoryStep[],
  expected: readonly ExpectedStep[],
): Matches {
  const used = new Set<number>();
  return expected.map((step) => {
    const found = actual.findIndex((taken, index) => !used.has(index) && isMatch(taken, step));
    if (found < 0) {
      return undefined;
    }
    used.add(found);
    return found;
  });
}

/** True for the same name and, when a type is expected, the same type and equal expected fields. */
function isMatch(taken: TrajectoryStep | undefined, expected: ExpectedStep): boolean {
  if (taken === undefined || taken.name !== expected.name) {
    return false;
  }
  if (expected.stepType === undefined) {
    return true;
  }
  if (taken.stepType !== expected.stepType) {
    return false;
  }
  const [found, wanted] = [{ ...taken }, { ...expected }] as Record<string, unknown>[];
  return comparedFields(expected.stepType).every(
    (field) =>
      wanted?.[field] === undefined ||
      (found?.[field] !== undefined && canonicalJson(found[field]) === canonicalJson(wanted[field])),
  );
}

/** Lists the fields of a type of step that are compared; empty for an unknown type. */
export function comparedFields(stepType: unknown): readonly string[] {
  const known: Readonly<Record<string, readonly string[]>> = COMPARED_FIELDS;
  return typeof stepType === 'string' && Object.hasOwn(known, stepType) ? (known[stepType] ?? []) : [];
}

function computeShare(matched: number, expected: number, actual: number, ordering: StepOrdering): number {
  if (expected === 0) {
    return actual === 0 ? 1 : 0;
  }
  const extra = ordering === 'strict' ? Math.max(0, actual - expected) : 0;
  return Math.max(0, matched / expected - EXTRA_STEP_COST * (extra / expected));
}

function outOfOrder(
  ordering: StepOrdering,
  names: readonly string[],
  matches: Matches,
  unmatched: readonly ExpectedStep[],
  expectedNames: ReadonlySet<string>,
): string[] {
  if (ordering === 'strict') {
    return names.filter((name, index) => matches[index] === undefined && expectedNames.has(name));
  }
  return ordering === 'relaxed'
    ? unmatched.map(({ name }) => name).filter((name) => names.includes(name))
    : [];
}
