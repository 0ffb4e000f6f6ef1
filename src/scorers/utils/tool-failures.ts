import type { Trajectory } from '../../evals/trajectory/trajectory.ts';
import { isToolStep } from './tool-steps.ts';
import type { AnyToolStep } from './tool-steps.ts';

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
    score: Math.max(0, 1 - EXCESS_RETRY_COST * excess.reduce((sum, count) => sum + count, 0)),
    patterns,
    totalRetries: patterns.reduce((sum, { retryCount }) => sum + retryCount, 0),
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
