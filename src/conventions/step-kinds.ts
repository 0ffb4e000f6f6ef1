import type { TraceData } from '../domain/trace/span.ts';
import type { StepKind } from '../domain/trace/agent-run.ts';
import { normaliseInSteps } from './normalise-trace.ts';
import type { SpanRole } from './normalised-span.ts';
import { finishInSlices } from './steps.ts';

/** Longest time without a pause, milliseconds. */
const SLICE_MS = 25;

const KINDS: Readonly<Partial<Record<SpanRole, StepKind>>> = {
  agent: 'agent',
  workflow: 'agent',
  llm: 'model',
  embedding: 'model',
  tool: 'tool',
  retriever: 'retrieval',
};

/** Reads the kind of the step of each span, by span id. Pauses between slices of a large trace. */
export async function readStepKinds(
  data: TraceData,
  deps: { nowMs: () => number; pause: () => Promise<unknown> },
): Promise<ReadonlyMap<string, StepKind>> {
  const { spans } = await finishInSlices(normaliseInSteps(data), SLICE_MS, deps);
  return new Map(spans.map(({ span, facts }) => [span.spanId, KINDS[facts.role ?? 'other'] ?? 'other']));
}
