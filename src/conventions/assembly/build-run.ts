import { findOthers } from './asked-calls.ts';
import { bindSubRuns, type BuiltRun } from './bind-sub-runs.ts';
import { settle } from './call-index.ts';
import { orderedOutput } from './envelopes.ts';
import {
  buildTimes,
  findError,
  type Identity,
  listContext,
  listDocuments,
  listModels,
  memberNodes,
  sumUsage,
} from './run-fields.ts';
import { MAX_AGENT_DEPTH, type RunPlan, type SplitInput, splitInput, subtract } from './run-plan.ts';
import { notScorable } from './scorability.ts';
import type { SpanNode } from './span-tree.ts';
import { type MessagePlace, toMessages, toOutput } from './to-messages.ts';
import { addFinalAnswer, buildTranscript, type Transcript } from './transcript.ts';
import { textIn, readTools } from '../messages/read-messages.ts';
import type { NormalMessage, ResultPart, SpanFacts } from '../normalised-span.ts';
import { CONVENTIONS } from '../registry.ts';
import { joinShapeWarnings } from '../shape/add-shapes.ts';
import type { Steps } from '../steps.ts';
import { type AgentRun, ANSWER_CUT, type ReadingWarning } from '../../domain/trace/agent-run.ts';
import { BY_SHAPE } from '../../domain/trace/convention-table.ts';
import { isCutFinish } from '../../domain/trace/halt.ts';
import type { AgentInput } from '../../domain/trace/messages.ts';
import { addUsage } from '../../domain/trace/token-usage.ts';

export interface TraceFacts {
  traceId: string;
  /** The run whose model requested a call, by id, and by id and name of the call; null for more than one run. */
  asked: ReadonlyMap<string, RunPlan | null>;
  identities: ReadonlyMap<RunPlan, Identity>;
  /** Results of the transfers in the trace, by id and name of the call. */
  transfers: ReadonlyMap<string, ResultPart>;
}

/** Builds one run; its sub-runs must be built before it. */
export function* buildRun(plan: RunPlan, subs: readonly BuiltRun[], trace: TraceFacts): Steps<BuiltRun> {
  const output = plan.kind === 'calls' ? [] : orderedOutput(plan.root.facts);
  const transcript = yield* buildTranscript({
    llms: plan.llms,
    tools: plan.tools,
    rootOrder: Math.max(plan.root.order, plan.subs.at(-1)?.root.order ?? 0),
    // The output of an envelope repeats the output of its members, in the form of its framework.
    agentOutput: plan.kind === 'agent' ? output : [],
    isElsewhere: findOthers(plan, trace.asked),
  });
  yield;
  settleTransfers(transcript, trace.transfers);
  bindSubRuns(plan, transcript, subs);
  addFinalAnswer(transcript, output);
  const conventions = countConventions(plan, subs);
  const identity = trace.identities.get(plan) ?? { session: null, user: null };
  const run = toRun({ plan, subs, transcript, conventions, identity, traceId: trace.traceId });
  return { plan, run, transcript, conventions };
}

function settleTransfers({ calls }: Transcript, transfers: TraceFacts['transfers']): void {
  for (const call of transfers.size === 0 ? [] : calls.all) {
    const result = call.id === null ? undefined : transfers.get(`${call.id} ${call.name}`);
    if (call.handoff && result !== undefined) {
      settle(call, result);
    }
  }
}

interface RunParts {
  plan: RunPlan;
  subs: readonly BuiltRun[];
  transcript: Transcript;
  conventions: ReadonlyMap<string, number>;
  identity: Identity;
  traceId: string;
}

export function toRun(parts: RunParts): AgentRun {
  const { plan, subs, transcript, traceId } = parts;
  const { span, facts } = plan.root;
  const { startMs, endMs } = buildTimes(plan);
  const error = findError(plan);
  const documents = listDocuments(plan);
  const tools = readTools(memberNodes(plan).flatMap(({ facts: { toolTexts = [] } }) => toolTexts));
  const reason = notScorable(plan, transcript);
  const models = listModels(plan);
  const place = { traceId, spanId: span.spanId };
  const provider = plan.llms.at(-1)?.facts.provider ?? facts.provider;
  const metadata = {
    ...(models[0] === undefined ? {} : { modelId: models[0] }),
    ...(provider === undefined ? {} : { provider }),
    traceId,
  };
  return {
    target: { kind: plan.parent === null ? 'trace' : 'agent', ...place },
    conventions: byRichness(parts.conventions),
    ...buildAgent(plan),
    ...buildOrigin(plan),
    sessionId: parts.identity.session,
    userId: parts.identity.user,
    models: models.length > 0 ? models : [...new Set(subs.flatMap((sub) => sub.run.models))],
    usage: subs.map((sub) => sub.run.usage).reduce(addUsage, sumUsage(plan)),
    startedAt: new Date(startMs).toISOString(),
    endedAt: new Date(endMs).toISOString(),
    status: error === undefined ? 'ok' : 'error',
    error: error ?? null,
    input: readInput(plan, { ...place, createdAt: new Date(startMs) }),
    output: toOutput(
      transcript.blocks,
      { ...place, section: 'output', createdAt: new Date(endMs) },
      metadata,
    ),
    documents,
    ...(tools.length === 0 ? {} : { tools }),
    context: listContext(transcript.blocks, documents),
    scorable: reason === null,
    notScorable: reason,
    warnings: listWarnings(plan),
    subRuns: subs.map((sub) => sub.run),
  };
}

/** Builds the agent's name and version. Without an agent span, the name is the one that all model calls give; several names are none. */
function buildAgent({ kind, root, llms }: RunPlan): Pick<AgentRun, 'agent' | 'agentVersion'> {
  const { agent, agentVersion } = kind !== 'calls' || root.role === 'tool' ? root.facts : {};
  const [named, ...more] = new Set([root, ...llms].flatMap(({ facts }) => facts.agent ?? []));
  const deployed = root.span.resourceAttributes.get('gen_ai.agent.version');
  return {
    agent: agent ?? (more.length === 0 ? named : null) ?? null,
    agentVersion: (agentVersion ?? deployed) || null,
  };
}

function buildOrigin(plan: RunPlan): Pick<AgentRun, 'service' | 'serviceVersion' | 'environment'> {
  const { serviceName, resourceAttributes: resource } = plan.root.span;
  const environment = resource.get('deployment.environment.name') || resource.get('deployment.environment');
  return {
    service: serviceName || null,
    serviceVersion: resource.get('service.version') || null,
    environment: environment || null,
  };
}

function countConventions(plan: RunPlan, subs: readonly BuiltRun[]): Map<string, number> {
  const counts = new Map<string, number>();
  const sources = [...memberNodes(plan), ...subs].map((source) => source.conventions);
  for (const [name, count] of sources.flatMap((source) => [...source])) {
    counts.set(name, (counts.get(name) ?? 0) + count);
  }
  return counts;
}

/** Sorts conventions by their number of facts; for equal numbers the more specific convention comes first. */
function byRichness(counts: ReadonlyMap<string, number>): string[] {
  const known = [...CONVENTIONS.map((convention) => convention.name), BY_SHAPE].filter((name) =>
    counts.has(name),
  );
  const names = [...[...counts.keys()].filter((name) => !known.includes(name)), ...known];
  return names.sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0));
}

function listWarnings(plan: RunPlan): ReadingWarning[] {
  const warnings = joinShapeWarnings(memberNodes(plan).flatMap((node) => node.normalised.warnings));
  if (plan.tooDeep) {
    const detail = `agents are nested deeper than ${MAX_AGENT_DEPTH} levels; the deeper ones are read as part of this run`;
    warnings.push({ code: 'agents_nested_too_deep', spanId: plan.root.span.spanId, detail });
  }
  const last = lastCall(plan);
  const finish = last?.facts.finishReason ?? plan.root.facts.finishReason;
  if (finish !== undefined && isCutFinish(finish)) {
    const detail = `the model stopped at its output limit (finish reason ${finish}), so the answer may end early; raise the limit of the call, for example max_tokens`;
    warnings.push({ code: ANSWER_CUT, spanId: (last ?? plan.root).span.spanId, detail });
  }
  return warnings;
}

/** Finds the last model call of a run and of the agents that it called: its answer is the answer of the run. */
function lastCall(plan: RunPlan): SpanNode | undefined {
  return [plan.llms.at(-1), ...plan.subs.map(lastCall)].reduce(
    (last, call) => ((call?.order ?? -1) > (last?.order ?? -1) ? call : last),
    undefined,
  );
}

/** Most messages of a question that a prompt is searched for; a question rarely has more than one. */
const MAX_WRAPPED = 16;

function readInput(plan: RunPlan, place: Omit<MessagePlace, 'section'>): AgentInput {
  const speaker = findSpeaker(plan);
  const root = speaker.kind === 'calls' ? {} : speaker.root.facts;
  const call = speaker.llms.find((llm) => llm.facts.input !== undefined)?.facts ?? {};
  const asked = splitInput((plan.root.facts.input?.length ?? 0) > 0 ? plan.root.facts.input : root.input);
  const sent = splitInput(call.input);
  const isOwn = asked.turn.length > 0 && !joins(asked.turn, sent);
  const turn = selectOwnMessages(isOwn ? asked.turn : sent.turn, plan);
  const asking = turn.slice(0, MAX_WRAPPED).map((message) => textIn(message.parts).trim());
  const before = subtract([...sent.history, ...sent.turn.filter((message) => !wraps(message, asking))], turn);
  const remembered =
    asked.turn.length === 0 || before.length >= asked.history.length ? before : asked.history;
  return {
    inputMessages: toMessages(turn, { ...place, section: 'input' }),
    rememberedMessages: toMessages(remembered, { ...place, section: 'remembered' }),
    systemMessages:
      plan.kind === 'envelope'
        ? []
        : listInstructions(root, call).map((content) => ({ role: 'system' as const, content })),
    taggedSystemMessages: {},
  };
}

/** True for one text with the whole conversation of the model call: frameworks join its messages for the agent's span. */
function joins(turn: readonly NormalMessage[], sent: SplitInput): boolean {
  const [joined = '', ...more] = turn.map((message) => textIn(message.parts).trim());
  const texts = [...sent.history, ...sent.turn].map((message) => textIn(message.parts).trim());
  if (more.length > 0 || sent.history.length === 0 || !joined.endsWith(texts.at(-1) ?? '')) {
    return false;
  }
  let at = 0;
  for (const text of texts) {
    const found = joined.indexOf(text, at);
    if (found < 0) {
      return false;
    }
    at = found + text.length;
  }
  return true;
}

/** True when a message contains the question: frameworks put it into a prompt of their own, which is no history. */
function wraps(message: NormalMessage, asking: readonly string[]): boolean {
  const text = textIn(message.parts);
  return asking.some((asked) => asked !== '' && text.length > asked.length && text.includes(asked));
}

/** Removes the results of transfers: frameworks repeat them to the next agent as messages of the user. */
function selectOwnMessages(turn: readonly NormalMessage[], plan: RunPlan): readonly NormalMessage[] {
  const relayed = plan.parent?.relayed ?? new Set();
  const own = turn.filter((message) => !relayed.has(textIn(message.parts)));
  return own.length === 0 ? turn : own;
}

/** Finds the run that gets the user's message first: for an envelope, its first member. */
function findSpeaker(plan: RunPlan): RunPlan {
  let speaker = plan;
  while (speaker.kind === 'envelope' && speaker.subs[0] !== undefined) {
    speaker = speaker.subs[0];
  }
  return speaker;
}

/** Lists the instructions of the agent, else the instructions of its first model call; equal texts once. */
function listInstructions(root: SpanFacts, call: SpanFacts): string[] {
  const own = [...(root.system ?? []), ...listSystemTexts(root.input)];
  const texts = own.length > 0 ? own : [...(call.system ?? []), ...listSystemTexts(call.input)];
  return [...new Set(texts)];
}

function listSystemTexts(messages: readonly NormalMessage[] | undefined): string[] {
  return (messages ?? [])
    .filter((message) => message.role === 'system')
    .map((message) => textIn(message.parts))
    .filter((text) => text !== '');
}
