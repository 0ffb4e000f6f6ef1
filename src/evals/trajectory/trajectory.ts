/** Members of every step of a trajectory. */
interface StepBase {
  /** Name of the tool, of the model, or of the step. */
  name: string;
  durationMs?: number;
  metadata?: Record<string, unknown>;
  /** Steps inside this one. */
  children?: TrajectoryStep[];
}

interface ToolStep extends StepBase {
  toolArgs?: Record<string, unknown>;
  toolResult?: Record<string, unknown>;
  success?: boolean;
}
export interface ToolCallStep extends ToolStep {
  stepType: 'tool_call';
}
export interface McpToolCallStep extends ToolStep {
  stepType: 'mcp_tool_call';
  mcpServer?: string;
}
/** A tool that the model's provider ran. */
export interface ProviderToolCallStep extends ToolStep {
  stepType: 'provider_tool_call';
}
export interface ModelGenerationStep extends StepBase {
  stepType: 'model_generation';
  modelId?: string;
  promptTokens?: number;
  completionTokens?: number;
  finishReason?: string;
}
interface AgentRunStep extends StepBase {
  stepType: 'agent_run';
  agentId?: string;
}
export interface WorkflowStepStep extends StepBase {
  stepType: 'workflow_step';
  stepId?: string;
  status?: string;
  output?: Record<string, unknown>;
}
interface WorkflowRunStep extends StepBase {
  stepType: 'workflow_run';
  workflowId?: string;
  status?: string;
}
interface WorkflowConditionalStep extends StepBase {
  stepType: 'workflow_conditional';
  conditionCount?: number;
  selectedSteps?: string[];
}
interface WorkflowParallelStep extends StepBase {
  stepType: 'workflow_parallel';
  branchCount?: number;
  parallelSteps?: string[];
}
interface WorkflowLoopStep extends StepBase {
  stepType: 'workflow_loop';
  loopType?: string;
  totalIterations?: number;
}
interface WorkflowSleepStep extends StepBase {
  stepType: 'workflow_sleep';
  sleepDurationMs?: number;
  sleepType?: string;
}
interface WorkflowWaitEventStep extends StepBase {
  stepType: 'workflow_wait_event';
  eventName?: string;
  eventReceived?: boolean;
}
interface ProcessorRunStep extends StepBase {
  stepType: 'processor_run';
  processorId?: string;
}

export type TrajectoryStep =
  | ToolCallStep
  | McpToolCallStep
  | ProviderToolCallStep
  | ModelGenerationStep
  | AgentRunStep
  | WorkflowStepStep
  | WorkflowRunStep
  | WorkflowConditionalStep
  | WorkflowParallelStep
  | WorkflowLoopStep
  | WorkflowSleepStep
  | WorkflowWaitEventStep
  | ProcessorRunStep;

export type TrajectoryStepType = TrajectoryStep['stepType'];

/** The steps of an agent or a workflow, in order. Scorers of `type: 'trajectory'` get it as `run.output`. */
export interface Trajectory {
  steps: TrajectoryStep[];
  totalDurationMs?: number;
  /** The messages from which the steps were read. */
  rawOutput?: unknown;
  /** The workflow result from which the steps were read. */
  rawWorkflowResult?: { stepResults: Record<string, unknown>; stepExecutionPath?: readonly string[] };
}

/** Match of steps: position by position; in this order with other steps between; in any order. */
export type StepOrdering = 'strict' | 'relaxed' | 'unordered';

type ExpectedStepOf<T> = T extends TrajectoryStep
  ? Pick<T, 'name' | 'stepType'> &
      Partial<Omit<T, 'name' | 'stepType' | 'children' | 'durationMs' | 'metadata'>> & {
        children?: TrajectoryExpectation;
      }
  : never;

/** An expected step: a name alone, or a name with `stepType` and fields of that type, which must be equal. */
export type ExpectedStep =
  | ExpectedStepOf<TrajectoryStep>
  | { name: string; stepType?: undefined; children?: TrajectoryExpectation };

/** Expected properties of a trajectory; absent properties are not checked. */
export interface TrajectoryExpectation {
  steps?: readonly ExpectedStep[];
  /** Default `relaxed`. */
  ordering?: StepOrdering;
  /** Default true; false subtracts 0.1 for each name that repeats. */
  allowRepeatedSteps?: boolean;
  maxSteps?: number;
  /** Limit over all model generations, nested ones included. */
  maxTotalTokens?: number;
  maxTotalDurationMs?: number;
  /** True: equal calls in a row lower the score. Default true when a budget is given. */
  noRedundantCalls?: boolean;
  /** Names of steps that must not occur. */
  blacklistedTools?: readonly string[];
  /** Names that must not follow each other directly. */
  blacklistedSequences?: readonly (readonly string[])[];
  /** Repeated calls of a failing tool that do not lower the score. Default 2. */
  maxRetriesPerTool?: number;
}
