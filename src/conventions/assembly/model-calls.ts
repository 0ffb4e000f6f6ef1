import { toRun, type TraceFacts } from './build-run.ts';
import { listContext } from './run-fields.ts';
import { type BuiltRun, createPlan, type RunPlan } from './run-plan.ts';
import type { SpanNode } from './span-tree.ts';
import { splitInput } from './split-input.ts';
import { toMessages } from './to-messages.ts';
import { buildTranscript, type Transcript } from './transcript.ts';
import type { Steps } from '../steps.ts';
import type { AgentRun } from '../../domain/trace/agent-run.ts';

export interface ModelCalls {
  /** In order of time. */
  readonly modelCalls: AgentRun[];
  /** Number of calls beyond the limit. */
  readonly modelCallsLeftOut: number;
}

/**
 * Builds a run for each model call of the trace, up to a limit: the messages that the model received, and its own answer. The
 * calls and results of the agent's turn so far are the end of the input, and the results are the context. One call per step.
 */
export function* buildModelCalls(
  built: ReadonlyMap<RunPlan, BuiltRun>,
  trace: TraceFacts,
  limit: number,
): Steps<ModelCalls> {
  const calls = [...built]
    .flatMap(([plan, { run }]) => plan.llms.map((llm) => ({ llm, plan, run })))
    .sort((a, b) => a.llm.order - b.llm.order);
  const modelCalls: AgentRun[] = [];
  for (const { llm, plan, run } of calls.slice(0, limit)) {
    yield;
    modelCalls.push(yield* buildModelCall(llm, { plan, run, trace }));
  }
  return { modelCalls, modelCallsLeftOut: calls.length - modelCalls.length };
}

interface Caller {
  readonly plan: RunPlan;
  /** Run of the agent that made the call. */
  readonly run: AgentRun;
  readonly trace: TraceFacts;
}

function* buildModelCall(llm: SpanNode, { plan: owner, run: caller, trace }: Caller): Steps<AgentRun> {
  const plan: RunPlan = { ...createPlan(llm, 'calls'), llms: [llm] };
  const transcript = yield* transcribe(llm, { input: undefined });
  const earlier = yield* transcribe(llm, { output: undefined });
  const identity = trace.identities.get(owner) ?? { session: null, user: null };
  const run = toRun({
    plan,
    subs: [],
    transcript,
    conventions: llm.conventions,
    identity,
    traceId: trace.traceId,
  });
  const { turn, inFlight } = splitInput(llm.facts.input);
  const place = {
    traceId: trace.traceId,
    spanId: llm.span.spanId,
    section: 'input' as const,
    createdAt: new Date(run.startedAt),
  };
  const input =
    inFlight.length === 0
      ? run.input
      : { ...run.input, inputMessages: toMessages([...turn, ...inFlight], place) };
  // An answer of tool calls is whole: their results come later.
  const isWhole =
    run.notScorable?.code === 'run_waiting'
      ? transcript.blocks.length > 0
      : run.notScorable?.code === 'run_incomplete' && transcript.calls.all.length > 0;
  const notScorable = isWhole ? null : run.notScorable;
  return {
    ...run,
    target: { ...run.target, kind: 'model-call' },
    agent: caller.agent,
    agentVersion: caller.agentVersion,
    input,
    context: listContext([...earlier.blocks, ...transcript.blocks], run.documents),
    scorable: notScorable === null,
    notScorable,
  };
}

/** Transcribes one model call with some facts removed. */
function transcribe(llm: SpanNode, without: Partial<SpanNode['facts']>): Steps<Transcript> {
  const node = { ...llm, facts: { ...llm.facts, ...without } };
  return buildTranscript({
    llms: [node],
    tools: [],
    rootOrder: llm.order,
    agentOutput: [],
    isElsewhere: () => false,
  });
}
