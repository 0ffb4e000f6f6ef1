import { asRecord } from '../as-record.ts';
import type { Trajectory, TrajectoryStep, TrajectoryStepType } from './trajectory.ts';

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

const TOOL: (span: TraceSpan, attributes: Fields) => Fields = (span, { success }) => ({
  toolArgs: asRecord(span.input),
  toolResult: asRecord(span.output),
  success,
});

/** Fields of each kind of step. A span of any other kind is no step, and its children move up. */
const STEP_FIELDS: Readonly<Record<TrajectoryStepType, (span: TraceSpan, attributes: Fields) => Fields>> = {
  tool_call: TOOL,
  mcp_tool_call: (span, attributes) => ({ ...TOOL(span, attributes), mcpServer: attributes['mcpServer'] }),
  provider_tool_call: TOOL,
  model_generation: (_span, { model, usage, finishReason }) => ({
    modelId: model,
    promptTokens: asRecord(usage)?.['inputTokens'],
    completionTokens: asRecord(usage)?.['outputTokens'],
    finishReason,
  }),
  agent_run: ({ entityId }) => ({ agentId: entityId ?? undefined }),
  workflow_step: (span, { status }) => ({ stepId: span.name, status, output: asRecord(span.output) }),
  workflow_run: ({ entityId }, { status }) => ({ workflowId: entityId ?? undefined, status }),
  workflow_conditional: (_span, { conditionCount, selectedSteps }) => ({ conditionCount, selectedSteps }),
  workflow_parallel: (_span, { branchCount, parallelSteps }) => ({ branchCount, parallelSteps }),
  workflow_loop: (_span, { loopType, totalIterations }) => ({ loopType, totalIterations }),
  workflow_sleep: (_span, { durationMs, sleepType }) => ({ sleepDurationMs: durationMs, sleepType }),
  workflow_wait_event: (_span, { eventName, eventReceived }) => ({ eventName, eventReceived }),
  processor_run: ({ entityId }) => ({ processorId: entityId ?? undefined }),
};

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
      const step = buildStep(span, span.spanType);
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

function buildStep(span: TraceSpan, stepType: TrajectoryStepType): TrajectoryStep {
  const { entityId, entityName, metadata } = span;
  const fields: Fields = {
    stepType,
    name: TOOL_TYPES.has(stepType) ? (entityId ?? entityName ?? span.name) : span.name,
    durationMs: findDuration(span),
    metadata: metadata ?? undefined,
    ...STEP_FIELDS[stepType](span, span.attributes ?? {}),
  };
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
