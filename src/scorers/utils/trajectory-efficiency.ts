import { InvalidInputError } from '../../domain/errors.ts';
import { canonicalJson } from '../../domain/identity.ts';
import type { ModelGenerationStep, Trajectory, TrajectoryStep } from '../../evals/trajectory/trajectory.ts';
import { roundToTwoDecimals } from './numbers.ts';
import { isToolStep } from './tool-steps.ts';

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

function listGenerations(steps: readonly TrajectoryStep[]): ModelGenerationStep[] {
  const found: ModelGenerationStep[] = [];
  const waiting = [...steps];
  for (let step = waiting.pop(); step !== undefined; step = waiting.pop()) {
    if (step.stepType === 'model_generation') {
      found.push(step);
    }
    waiting.push(...(step.children ?? []));
  }
  return found;
}

function checkTokens(generations: readonly ModelGenerationStep[]): void {
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
