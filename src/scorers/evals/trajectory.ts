import type { AgentMessage, ToolInvocation } from '../../domain/trace/messages.ts';
import { isObject } from '../../domain/unknown-values.ts';

/** Returns a record as it is, any other value under `value`, and undefined for a missing value. */
function asRecord(value: unknown): Record<string, unknown> | undefined {
  if (value === undefined || value === null) {
    return undefined;
  }
  return typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : { value };
}

/** Members of every step of a trajectory. */
interface StepBase {
  /** Name of the tool, of the model, or of the step. */
  name: string;
  durationMs?: number;
  metadata?: Record<string, unknown>;
  /** Steps inside this one. */
  children?: TrajectoryStep[];
}

interface ToolFields {
  toolArgs: Record<string, unknown>;
  toolResult: Record<string, unknown>;
  success: boolean;
}

interface StepFields {
  tool_call: ToolFields;
  mcp_tool_call: ToolFields & { mcpServer: string };
  /** A tool that the model's provider ran. */
  provider_tool_call: ToolFields;
  model_generation: {
    modelId: string;
    promptTokens: number;
    completionTokens: number;
    finishReason: string;
  };
  agent_run: { agentId: string };
  workflow_step: { stepId: string; status: string; output: Record<string, unknown> };
  workflow_run: { workflowId: string; status: string };
  workflow_conditional: { conditionCount: number; selectedSteps: string[] };
  workflow_parallel: { branchCount: number; parallelSteps: string[] };
  workflow_loop: { loopType: string; totalIterations: number };
  workflow_sleep: { sleepDurationMs: number; sleepType: string };
  workflow_wait_event: { eventName: string; eventReceived: boolean };
  processor_run: { processorId: string };
}

/** A step of a type; any of its fields may be missing. */
export type StepOf<Type extends TrajectoryStepType> = StepBase & { stepType: Type } & Partial<
    StepFields[Type]
  >;
export type ToolCallStep = StepOf<'tool_call'>;

export type TrajectoryStepType = keyof StepFields;
export type TrajectoryStep = { [Type in TrajectoryStepType]: StepOf<Type> }[TrajectoryStepType];

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

/** A tool invocation from unchecked data. */
export type LooseInvocation = Partial<ToolInvocation> & Record<string, unknown>;

/**
 * Lists the tool invocations of a message in order, from its parts and from `content.toolInvocations`. An invocation in both is
 * read from the parts, which mark failures. An invocation in the list only is put before the next one that is in both.
 */
export function mergeToolInvocations(message: unknown): LooseInvocation[] {
  const content = isObject(message) ? message['content'] : undefined;
  if (!isObject(content)) {
    return [];
  }
  const fromParts = asRecords(content['parts'])
    .filter((part) => part['type'] === 'tool-invocation')
    .map((part) => part['toolInvocation'])
    .filter(isObject);
  const known = new Set(fromParts.map((invocation) => invocation['toolCallId']));
  const before = new Map<unknown, LooseInvocation[]>();
  let waiting: LooseInvocation[] = [];
  for (const invocation of asRecords(content['toolInvocations'])) {
    const id = invocation['toolCallId'];
    if (id === undefined || !known.has(id)) {
      waiting.push(invocation);
    } else if (waiting.length > 0) {
      before.set(id, [...(before.get(id) ?? []), ...waiting]);
      waiting = [];
    }
  }
  const merged: LooseInvocation[] = [];
  for (const invocation of fromParts) {
    merged.push(...(before.get(invocation['toolCallId']) ?? []), invocation);
    before.delete(invocation['toolCallId']);
  }
  return [...merged, ...waiting];
}

/** Lists the tool invocations of all messages, in order. */
export function listToolInvocations(
  messages: readonly AgentMessage[] | readonly unknown[],
): LooseInvocation[] {
  return messages.flatMap((message) => mergeToolInvocations(message));
}

function asRecords(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

const TAKEN_STATES: ReadonlySet<unknown> = new Set(['result', 'call', 'output-error']);

/** Reads the steps of an agent from the tool invocations of its output messages. */
export function extractTrajectory(output: readonly unknown[]): Trajectory {
  const steps = listToolInvocations(output)
    .filter((invocation) => invocation.toolName && TAKEN_STATES.has(invocation.state))
    .map(buildToolStep);
  return { steps, rawOutput: output };
}

function buildToolStep(invocation: LooseInvocation): ToolCallStep {
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
    steps: taken.map(({ stepId, result }) => buildWorkflowStep(stepId, result)),
    ...(starts.length === 0 || ends.length === 0
      ? {}
      : { totalDurationMs: Math.max(...ends) - Math.min(...starts) }),
    rawWorkflowResult: { stepResults, ...(stepExecutionPath === undefined ? {} : { stepExecutionPath }) },
  };
}

function buildWorkflowStep(stepId: string, result: WorkflowStepResult): StepOf<'workflow_step'> {
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

/** A span in the form of observability stores of agents. Times are dates, or values that `new Date()` reads. */
export interface TraceSpan {
  readonly spanId: string;
  readonly parentSpanId?: string | null;
  readonly spanType: string;
  readonly name: string;
  readonly entityId?: string | null;
  readonly entityName?: string | null;
  readonly startedAt?: Date | string | number | null;
  readonly endedAt?: Date | string | number | null;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly attributes?: Readonly<Record<string, unknown>> | null;
  readonly metadata?: Record<string, unknown> | null;
  readonly [field: string]: unknown;
}

type Fields = Record<string, unknown>;

type FieldReader = (span: TraceSpan, attributes: Fields) => unknown;

/** Reads the attribute of this name. */
const named =
  (name: string): FieldReader =>
  (_span, attributes) =>
    attributes[name];
const ofEntity: FieldReader = ({ entityId }) => entityId ?? undefined;
const TOOL = {
  toolArgs: (span: TraceSpan) => asRecord(span.input),
  toolResult: (span: TraceSpan) => asRecord(span.output),
  success: named('success'),
};
const usageOf =
  (count: string): FieldReader =>
  (_span, { usage }) =>
    asRecord(usage)?.[count];

/**
 * Readers of the fields of each type of step, which are also the fields that a comparison looks at. A span of any other type is no step,
 * and its children move up.
 */
const STEP_FIELDS: {
  readonly [Type in TrajectoryStepType]: Readonly<Record<keyof StepFields[Type], FieldReader>>;
} = {
  tool_call: TOOL,
  mcp_tool_call: { ...TOOL, mcpServer: named('mcpServer') },
  provider_tool_call: TOOL,
  model_generation: {
    modelId: named('model'),
    promptTokens: usageOf('inputTokens'),
    completionTokens: usageOf('outputTokens'),
    finishReason: named('finishReason'),
  },
  agent_run: { agentId: ofEntity },
  workflow_step: { stepId: ({ name }) => name, status: named('status'), output: TOOL.toolResult },
  workflow_run: { workflowId: ofEntity, status: named('status') },
  workflow_conditional: { conditionCount: named('conditionCount'), selectedSteps: named('selectedSteps') },
  workflow_parallel: { branchCount: named('branchCount'), parallelSteps: named('parallelSteps') },
  workflow_loop: { loopType: named('loopType'), totalIterations: named('totalIterations') },
  workflow_sleep: { sleepDurationMs: named('durationMs'), sleepType: named('sleepType') },
  workflow_wait_event: { eventName: named('eventName'), eventReceived: named('eventReceived') },
  processor_run: { processorId: ofEntity },
};

/** Lists the fields of a type of step; empty for an unknown type. */
export function listFields(stepType: unknown): string[] {
  return typeof stepType === 'string' && isStepType(stepType) ? Object.keys(STEP_FIELDS[stepType]) : [];
}

const TOOL_TYPES: ReadonlySet<string> = new Set(['tool_call', 'mcp_tool_call', 'provider_tool_call']);
/** Kinds of root spans that are the run itself: the trajectory is the steps below them. */
const RUN_TYPES: ReadonlySet<string> = new Set(['agent_run', 'workflow_run']);

/**
 * Lists the steps of a trace with their nested steps, from `rootSpanId` or, without such a span, from the roots. A span whose
 * parent is missing is a root; a span that is its own ancestor is left out.
 */
export function extractTrajectoryFromTrace(spans: readonly TraceSpan[], rootSpanId?: string): Trajectory {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const children = Map.groupBy(spans, ({ parentSpanId }) =>
    parentSpanId !== null && parentSpanId !== undefined && known.has(parentSpanId) ? parentSpanId : undefined,
  );
  const chosen = spans.filter(({ spanId }) => spanId === rootSpanId);
  const roots = chosen.length > 0 ? chosen : (children.get(undefined) ?? []);
  const [root] = roots;
  if (root === undefined) {
    return { steps: [] };
  }
  const isRun = roots.length === 1 && RUN_TYPES.has(root.spanType);
  const totalDurationMs = roots.length === 1 ? findDuration(root) : undefined;
  return {
    steps: listSteps(isRun ? (children.get(root.spanId) ?? []) : roots, children),
    ...(totalDurationMs === undefined ? {} : { totalDurationMs }),
  };
}

/** Lists steps without recursion, because a sender decides how deep a trace is. */
function listSteps(
  first: readonly TraceSpan[],
  children: ReadonlyMap<string | undefined, readonly TraceSpan[]>,
): TrajectoryStep[] {
  const steps: TrajectoryStep[] = [];
  const waiting = [...first].reverse().map((span) => ({ span, into: () => steps }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { span } = next;
    let { into } = next;
    if (isStepType(span.spanType)) {
      const step = buildSpanStep(span, span.spanType);
      into().push(step);
      into = () => (step.children ??= []);
    }
    for (const child of [...(children.get(span.spanId) ?? [])].reverse()) {
      waiting.push({ span: child, into });
    }
  }
  return steps;
}

function isStepType(type: string): type is TrajectoryStepType {
  return Object.hasOwn(STEP_FIELDS, type);
}

function buildSpanStep(span: TraceSpan, stepType: TrajectoryStepType): TrajectoryStep {
  const { entityId, entityName, metadata } = span;
  const fields: Fields = {
    stepType,
    name: TOOL_TYPES.has(stepType) ? (entityId ?? entityName ?? span.name) : span.name,
    durationMs: findDuration(span),
    metadata: metadata ?? undefined,
  };
  for (const [name, read] of Object.entries<FieldReader>(STEP_FIELDS[stepType])) {
    fields[name] = read(span, span.attributes ?? {});
  }
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known) as unknown as TrajectoryStep;
}

function findDuration({ startedAt, endedAt }: TraceSpan): number | undefined {
  if (startedAt === undefined || startedAt === null || endedAt === undefined || endedAt === null) {
    return undefined;
  }
  const durationMs = new Date(endedAt).getTime() - new Date(startedAt).getTime();
  return Number.isNaN(durationMs) ? undefined : durationMs;
}

/** Call of a tool that a test answers in place of the tool. */
export interface ToolMock {
  readonly toolName: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly output: unknown;
  /** `ignore`: the mock answers every call of the tool, whatever its arguments are. */
  readonly matchArgs?: 'ignore';
}

/** Labels of spans of tools, in place of the tool's name. */
const TOOL_LABEL = /^(?:mcp_)?tool:\s*'([^'\n]*)'/;

/** Begin of the tool that hands a task to another agent. Its arguments are written anew in each run. */
const DELEGATION = 'agent-';

/**
 * Collects the tool calls of an agent in their order, as mocks. Calls inside a tool call belong to another agent and are left out;
 * calls inside any other step belong to the agent.
 */
export function collectToolMocks(steps: readonly TrajectoryStep[] | undefined): ToolMock[] {
  return (steps ?? []).flatMap((step) => {
    if (step.stepType !== 'tool_call' && step.stepType !== 'mcp_tool_call') {
      return collectToolMocks(step.children);
    }
    const { name, toolArgs, toolResult } = step;
    const toolName = TOOL_LABEL.exec(name)?.[1] ?? name;
    const mock: ToolMock = { toolName, args: toolArgs ?? {}, output: toolResult ?? null };
    return name === '' ? [] : [toolName.startsWith(DELEGATION) ? { ...mock, matchArgs: 'ignore' } : mock];
  });
}
