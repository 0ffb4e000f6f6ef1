import { asRecord } from '../as-record.ts';
import type { Trajectory, WorkflowStepStep } from './trajectory.ts';

/** Result of a step of a workflow. Times are milliseconds since 1970. */
export interface WorkflowStepResult {
  readonly status: string;
  readonly output?: unknown;
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly metadata?: Record<string, unknown>;
  readonly [field: string]: unknown;
}

/**
 * Lists the steps of a workflow in the order of `stepExecutionPath`, else in the order of the object. The total duration is the
 * time from the first start to the last end.
 */
export function extractWorkflowTrajectory(
  stepResults: Readonly<Record<string, WorkflowStepResult>>,
  stepExecutionPath?: readonly string[],
): Trajectory {
  const taken = (stepExecutionPath ?? Object.keys(stepResults)).flatMap((stepId) => {
    const result = Object.hasOwn(stepResults, stepId) ? stepResults[stepId] : undefined;
    return result === undefined ? [] : [{ stepId, result }];
  });
  const starts = taken.flatMap(({ result }) => result.startedAt ?? []);
  const ends = taken.flatMap(({ result }) => result.endedAt ?? []);
  return {
    steps: taken.map(({ stepId, result }) => buildStep(stepId, result)),
    ...(starts.length === 0 || ends.length === 0
      ? {}
      : { totalDurationMs: Math.max(...ends) - Math.min(...starts) }),
    rawWorkflowResult: { stepResults, ...(stepExecutionPath === undefined ? {} : { stepExecutionPath }) },
  };
}

function buildStep(stepId: string, result: WorkflowStepResult): WorkflowStepStep {
  const { status, startedAt, endedAt, metadata } = result;
  const output = asRecord(result.output);
  return {
    stepType: 'workflow_step',
    name: stepId,
    stepId,
    status,
    ...(output === undefined ? {} : { output }),
    ...(startedAt === undefined || endedAt === undefined ? {} : { durationMs: endedAt - startedAt }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}
