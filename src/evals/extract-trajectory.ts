import { toolInvocationsOf } from './tool-invocations.ts';
import type { LooseInvocation } from './tool-invocations.ts';

export interface ToolCallStep {
  stepType: 'tool_call';
  name: string;
  toolArgs?: Record<string, unknown>;
  toolResult?: Record<string, unknown>;
  /** True for a result that is not marked as an error. */
  success: boolean;
}

export interface Trajectory {
  steps: ToolCallStep[];
  /** The messages that it was read from. */
  rawOutput: unknown;
}

const TAKEN_STATES: ReadonlySet<unknown> = new Set(['result', 'call', 'output-error']);

/** The steps that an agent took, read from the tool invocations of its output messages. */
export function extractTrajectory(output: readonly unknown[]): Trajectory {
  const steps = toolInvocationsOf(output)
    .filter((invocation) => invocation.toolName && TAKEN_STATES.has(invocation.state))
    .map(stepOf);
  return { steps, rawOutput: output };
}

function stepOf(invocation: LooseInvocation): ToolCallStep {
  const step: ToolCallStep = {
    stepType: 'tool_call',
    name: String(invocation.toolName),
    success: invocation.state === 'result' && invocation.isError !== true,
  };
  const toolArgs = asRecord(invocation.args);
  const toolResult = asRecord(invocation.result);
  return {
    ...step,
    ...(toolArgs === undefined ? {} : { toolArgs }),
    ...(toolResult === undefined ? {} : { toolResult }),
  };
}

/** Records as they are, other values under `value`, nothing for what is missing. */
function asRecord(value: unknown): Record<string, unknown> | undefined {
  if (value === undefined || value === null) {
    return undefined;
  }
  return typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : { value };
}
