import { asRecord } from '../as-record.ts';
import { listToolInvocations } from './tool-invocations.ts';
import type { LooseInvocation } from './tool-invocations.ts';
import type { ToolCallStep, Trajectory } from './trajectory.ts';

const TAKEN_STATES: ReadonlySet<unknown> = new Set(['result', 'call', 'output-error']);

/** Reads the steps of an agent from the tool invocations of its output messages. */
export function extractTrajectory(output: readonly unknown[]): Trajectory {
  const steps = listToolInvocations(output)
    .filter((invocation) => invocation.toolName && TAKEN_STATES.has(invocation.state))
    .map(buildStep);
  return { steps, rawOutput: output };
}

function buildStep(invocation: LooseInvocation): ToolCallStep {
  const step: ToolCallStep = {
    stepType: 'tool_call',
    name: String(invocation.toolName),
    success: invocation.state === 'result' && invocation.isError !== true,
  };
  const toolArgs = asRecord(invocation.args);
  // The result of a call without an answer is ignored; it may be empty.
  const toolResult = invocation.state === 'result' ? asRecord(invocation.result) : undefined;
  return {
    ...step,
    ...(toolArgs === undefined ? {} : { toolArgs }),
    ...(toolResult === undefined ? {} : { toolResult }),
  };
}
