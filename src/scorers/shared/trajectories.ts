import { InvalidInputError } from '../../domain/errors.ts';
import {
  mergeToolInvocations,
  listToolInvocations,
  type LooseInvocation,
  type TrajectoryStep,
  type ExpectedStep,
  type StepOf,
  type StepOrdering,
  type Trajectory,
  listFields,
} from '../evals/trajectory.ts';
import { canonicalJson } from '../../domain/identity.ts';
import { roundToTwoDecimals } from './texts.ts';

export interface ToolCallInfo {
  toolName: string;
  /** `<messageIndex>-<invocationIndex>` where the call has no id. */
  toolCallId: string;
  messageIndex: number;
  invocationIndex: number;
}

export interface ToolResultInfo {
  toolName: string;
  toolCallId: string;
  args: unknown;
  result: unknown;
}

const CALLED_STATES: ReadonlySet<unknown> = new Set(['result', 'call', 'output-error']);

/** Lists every tool call of a run's output, including failed and unanswered calls. */
export function extractToolCalls(output: readonly unknown[]): {
  tools: string[];
  toolCallInfos: ToolCallInfo[];
} {
  const toolCallInfos = listMessages(output, 'extractToolCalls').flatMap((message, messageIndex) =>
    mergeToolInvocations(message).flatMap((invocation, invocationIndex) =>
      isNamedCall(invocation)
        ? {
            toolName: invocation.toolName,
            toolCallId: invocation.toolCallId || `${messageIndex}-${invocationIndex}`,
            messageIndex,
            invocationIndex,
          }
        : [],
    ),
  );
  return { tools: toolCallInfos.map((info) => info.toolName), toolCallInfos };
}

/** Lists the results of tools in order; calls without a result and failed calls are left out. */
export function extractToolResults(output: readonly unknown[]): ToolResultInfo[] {
  return listToolInvocations(listMessages(output, 'extractToolResults'))
    .filter((invocation) => invocation.state === 'result' && invocation.result !== undefined)
    .map((invocation) => ({
      toolName: invocation.toolName as string,
      toolCallId: invocation.toolCallId ?? '',
      args: invocation.args ?? {},
      result: invocation.result,
    }));
}

function isNamedCall(invocation: LooseInvocation): invocation is LooseInvocation & { toolName: string } {
  return Boolean(invocation.toolName) && CALLED_STATES.has(invocation.state);
}

function listMessages(output: unknown, caller: string): readonly unknown[] {
  if (!Array.isArray(output)) {
    throw new InvalidInputError(`${caller} needs the list of output messages of an agent run`);
  }
  return output;
}

type AnyToolStep = StepOf<'tool_call' | 'mcp_tool_call' | 'provider_tool_call'>;

/** True for a tool call, by the agent or by its model's provider. */
function isToolStep(step: TrajectoryStep | undefined): step is AnyToolStep {
  const type = step?.stepType;
  return type === 'tool_call' || type === 'mcp_tool_call' || type === 'provider_tool_call';
}

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

/** True for the same name and, when a type is expected, the same type and equal expected fields of the type. */
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
  return listFields(expected.stepType).every(
    (field) =>
      wanted?.[field] === undefined ||
      (found?.[field] !== undefined && canonicalJson(found[field]) === canonicalJson(wanted[field])),
  );
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

export interface ToolFailureOptions {
  /** Retries of one tool in a row that do not lower the score. Default 2. */
  readonly maxRetriesPerTool?: number | undefined;
}

/** A tool that was called again after it had failed. */
export interface RetryPattern {
  toolName: string;
  retryCount: number;
  /** True when it never succeeded and another tool was called next. */
  fellBackToAlternative: boolean;
  alternativeTool?: string;
  eventuallySucceeded: boolean;
}

export interface ToolFailures {
  /** 1 minus 0.2 for each retry too many, at least 0. */
  score: number;
  patterns: RetryPattern[];
  totalRetries: number;
  excessiveRetryTools: string[];
}

const DEFAULT_MAX_RETRIES = 2;
const EXCESS_RETRY_COST = 0.2;

/** Analyses how failing tools were handled: repeated calls of the same tool, and the step after them. */
export function analyzeToolFailures(
  { steps }: Trajectory,
  { maxRetriesPerTool = DEFAULT_MAX_RETRIES }: ToolFailureOptions = {},
): ToolFailures {
  const patterns = findPatterns(steps.filter(isToolStep));
  const excess = patterns.map(({ retryCount }) => Math.max(0, retryCount - maxRetriesPerTool));
  return {
    score: Math.max(0, 1 - EXCESS_RETRY_COST * sum(excess)),
    patterns,
    totalRetries: sum(patterns.map(({ retryCount }) => retryCount)),
    excessiveRetryTools: patterns
      .filter((_pattern, index) => (excess[index] ?? 0) > 0)
      .map(({ toolName }) => toolName),
  };
}

function findPatterns(calls: readonly AnyToolStep[]): RetryPattern[] {
  const patterns: RetryPattern[] = [];
  for (let from = 0; from < calls.length;) {
    const toolName = (calls[from] as AnyToolStep).name;
    let to = from + 1;
    while (calls[to]?.name === toolName) {
      to += 1;
    }
    const row = calls.slice(from, to);
    const retryCount = row.slice(1).filter((_call, index) => row[index]?.success === false).length;
    if (retryCount > 0) {
      const eventuallySucceeded = row.at(-1)?.success !== false;
      const alternative = eventuallySucceeded ? undefined : calls[to]?.name;
      patterns.push({
        toolName,
        retryCount,
        fellBackToAlternative: alternative !== undefined,
        ...(alternative === undefined ? {} : { alternativeTool: alternative }),
        eventuallySucceeded,
      });
    }
    from = to;
  }
  return patterns;
}

export interface BlacklistOptions {
  readonly blacklistedTools?: readonly string[] | undefined;
  readonly blacklistedSequences?: readonly (readonly string[])[] | undefined;
}

export interface TrajectoryBlacklist {
  /** 1 when nothing forbidden occurred, else 0. */
  score: number;
  violatedTools: string[];
  violatedSequences: string[][];
}

/** Finds forbidden steps, and forbidden sequences of consecutive steps. */
export function checkTrajectoryBlacklist(
  { steps }: Trajectory,
  { blacklistedTools = [], blacklistedSequences = [] }: BlacklistOptions = {},
): TrajectoryBlacklist {
  const names = steps.map(({ name }) => name);
  const violatedTools = blacklistedTools.filter((name) => names.includes(name));
  const violatedSequences = blacklistedSequences
    .filter((sequence) => sequence.length > 0 && holds(names, sequence))
    .map((sequence) => [...sequence]);
  const isClean = violatedTools.length === 0 && violatedSequences.length === 0;
  return { score: isClean ? 1 : 0, violatedTools, violatedSequences };
}

function holds(names: readonly string[], sequence: readonly string[]): boolean {
  return names.some((_name, from) => sequence.every((name, offset) => names[from + offset] === name));
}

export interface EfficiencyOptions {
  readonly maxSteps?: number | undefined;
  readonly maxTotalTokens?: number | undefined;
  readonly maxTotalDurationMs?: number | undefined;
  /** Default true. */
  readonly noRedundantCalls?: boolean | undefined;
}

export interface TrajectoryEfficiency {
  /** Mean over the given budgets and redundancy, 0 to 1, rounded to two decimals. */
  score: number;
  totalSteps: number;
  overStepBudget: boolean;
  totalTokens: number;
  overTokenBudget: boolean;
  totalDurationMs: number;
  overDurationBudget: boolean;
  /** Calls that repeat the previous step: same tool, same arguments. */
  redundantCalls: { name: string; index: number }[];
}

const REDUNDANT_CALL_COST = 0.2;

/** Checks a trajectory against its budgets. Throws `InvalidInputError` for a budget that cannot be measured. */
export function checkTrajectoryEfficiency(
  trajectory: Trajectory,
  options: EfficiencyOptions = {},
): TrajectoryEfficiency {
  const { maxSteps, maxTotalTokens, maxTotalDurationMs, noRedundantCalls = true } = options;
  checkBudgets({ maxSteps, maxTotalTokens, maxTotalDurationMs });
  const generations = listGenerations(trajectory.steps);
  if (maxTotalTokens !== undefined) {
    checkTokens(generations);
  }
  const totalSteps = trajectory.steps.length;
  const totalTokens = sum(
    generations.flatMap((step) => [step.promptTokens ?? 0, step.completionTokens ?? 0]),
  );
  const totalDurationMs = computeDuration(trajectory, maxTotalDurationMs !== undefined);
  const redundantCalls = noRedundantCalls ? findRedundantCalls(trajectory.steps) : [];
  const shares = [
    ...shareOfBudget(totalSteps, maxSteps),
    ...shareOfBudget(totalTokens, maxTotalTokens),
    ...shareOfBudget(totalDurationMs, maxTotalDurationMs),
    ...(noRedundantCalls ? [Math.max(0, 1 - REDUNDANT_CALL_COST * redundantCalls.length)] : []),
  ];
  return {
    score: shares.length === 0 ? 1 : roundToTwoDecimals(sum(shares) / shares.length),
    totalSteps,
    overStepBudget: isOver(totalSteps, maxSteps),
    totalTokens,
    overTokenBudget: isOver(totalTokens, maxTotalTokens),
    totalDurationMs,
    overDurationBudget: isOver(totalDurationMs, maxTotalDurationMs),
    redundantCalls,
  };
}

function checkBudgets(budgets: Readonly<Record<string, number | undefined>>): void {
  for (const [name, budget] of Object.entries(budgets)) {
    if (budget !== undefined && !isAmount(budget)) {
      throw new InvalidInputError(`${name} is ${budget}; a budget is a finite number of 0 or more`);
    }
  }
}

function isAmount(value: number | undefined): boolean {
  return value !== undefined && Number.isFinite(value) && value >= 0;
}

function isOver(value: number, budget: number | undefined): boolean {
  return budget !== undefined && value > budget;
}

/** Computes 1 within the budget, 0 at twice the budget and in proportion between; empty without a budget. */
function shareOfBudget(value: number, budget: number | undefined): number[] {
  if (budget === undefined) {
    return [];
  }
  if (value <= budget) {
    return [1];
  }
  return [budget === 0 ? 0 : Math.max(0, 1 - (value - budget) / budget)];
}

function listGenerations(steps: readonly TrajectoryStep[]): StepOf<'model_generation'>[] {
  const found: StepOf<'model_generation'>[] = [];
  const waiting = [...steps];
  for (let step = waiting.pop(); step !== undefined; step = waiting.pop()) {
    if (step.stepType === 'model_generation') {
      found.push(step);
    }
    waiting.push(...(step.children ?? []));
  }
  return found;
}

function checkTokens(generations: readonly StepOf<'model_generation'>[]): void {
  const unmeasured = generations.find(
    (step) => !isAmount(step.promptTokens) || !isAmount(step.completionTokens),
  );
  if (generations.length === 0 || unmeasured !== undefined) {
    const which = unmeasured === undefined ? 'there is no model generation' : `"${unmeasured.name}" has none`;
    throw new InvalidInputError(`maxTotalTokens needs the token counts of the model's steps, and ${which}`);
  }
}

/** Returns the duration of the whole trajectory where it is known, else the sum of its steps. */
function computeDuration({ totalDurationMs, steps }: Trajectory, isNeeded: boolean): number {
  const durations = totalDurationMs === undefined ? steps.map((step) => step.durationMs) : [totalDurationMs];
  if (isNeeded && (durations.length === 0 || !durations.every(isAmount))) {
    throw new InvalidInputError('maxTotalDurationMs needs totalDurationMs, or durationMs of every step');
  }
  return sum(durations.map((durationMs = 0) => durationMs));
}

function findRedundantCalls(steps: readonly TrajectoryStep[]): { name: string; index: number }[] {
  return steps.flatMap((step, index) => {
    const before = steps[index - 1];
    const repeats =
      isToolStep(step) &&
      isToolStep(before) &&
      before.name === step.name &&
      canonicalJson([before.toolArgs]) === canonicalJson([step.toolArgs]);
    return repeats ? [{ name: step.name, index }] : [];
  });
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
