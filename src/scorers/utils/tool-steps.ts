import type {
  McpToolCallStep,
  ProviderToolCallStep,
  ToolCallStep,
  TrajectoryStep,
} from '../../evals/trajectory/trajectory.ts';

export type AnyToolStep = ToolCallStep | McpToolCallStep | ProviderToolCallStep;

/** True for a tool call, by the agent or by its model's provider. */
export function isToolStep(step: TrajectoryStep | undefined): step is AnyToolStep {
  const type = step?.stepType;
  return type === 'tool_call' || type === 'mcp_tool_call' || type === 'provider_tool_call';
}
