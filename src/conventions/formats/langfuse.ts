import { identityUnder, readStructure, readText, rolesOf, usageIn } from '../attributes.ts';
import { countIn, readFields, structureIn } from '../json.ts';
import { isModelNode } from '../messages/common-messages.ts';
import {
  calledFacts,
  functionFacts,
  readDocuments,
  readOutcome,
  toolStepFacts,
} from '../messages/payloads.ts';
import { readMessages } from '../messages/read-messages.ts';
import type { Convention, SpanFacts, SpanRole, SpanView } from '../normalised-span.ts';

/** Langfuse's SDKs. An observation contains whatever the application or its wrapper passed. */
export const langfuse: Convention = {
  name: 'langfuse',
  detect: ({ span }) => span.attributes.has(TYPE) || span.scopeName === 'langfuse-sdk',
  read,
  signals: { keyPrefixes: ['langfuse.'], scopePrefixes: ['langfuse'] },
  switches: {
    emitter: 'Langfuse',
    scopes: ['langfuse-sdk'],
    setting:
      'in Langfuse leave capture_input and capture_output of observe (JavaScript: captureInput, captureOutput) out or set them to true, LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED likewise, and check the mask function',
    sendsByDefault: true,
    source: 'reference of langfuse’s observe; recorded: langfuse 5',
  },
};

const TYPE_ROLES = rolesOf({
  agent: 'agent',
  llm: 'generation',
  tool: 'tool',
  retriever: 'retriever',
  embedding: 'embedding',
  evaluation: 'evaluator',
  container: 'span chain event guardrail',
});

const TYPE = 'langfuse.observation.type';
const INPUT = 'langfuse.observation.input';
const OUTPUT = 'langfuse.observation.output';
const GRAPH_NODE = 'langfuse.observation.metadata.langgraph_node';

function read(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const prefixes = ['langfuse.trace.metadata.', 'langfuse.observation.metadata.'];
  const described = () => identityUnder(attributes, prefixes);
  const facts: SpanFacts = {
    role: readRole(view),
    session: readText(attributes, 'session.id', 'langfuse.session.id') ?? described().session,
    user: readText(attributes, 'user.id', 'langfuse.user.id') ?? described().user,
    error: findError(view),
  };
  const input = readStructure(view, INPUT);
  const output = readStructure(view, OUTPUT);
  if (facts.role === 'llm') {
    return { ...facts, ...generationFacts(view, input, output) };
  }
  if (facts.role === 'tool') {
    const outcome = readOutcome(output);
    const id = readText(attributes, 'langfuse.observation.metadata.tool_call_id') ?? outcome.id;
    return { ...facts, ...calledFacts(input, outcome), toolName: view.span.name, toolCallId: id };
  }
  if (facts.role === 'retriever') {
    return { ...facts, documents: readDocuments(output) };
  }
  const step = facts.role === 'container' ? toolStepFacts(input, output) : undefined;
  if (step !== undefined) {
    return { ...facts, ...step, toolName: step.toolName ?? view.span.name };
  }
  const trace = traceContent(view);
  return {
    ...facts,
    // The version of an observation is the version of the named agent.
    ...(facts.role === 'agent'
      ? { agent: view.span.name, agentVersion: readText(attributes, 'langfuse.version') }
      : {}),
    ...functionFacts(input ?? trace.input, output ?? trace.output),
  };
}

/** Reads input and output of the whole trace. Some versions write them on every span; they belong to the root. */
function traceContent(view: SpanView): { input?: unknown; output?: unknown } {
  const { attributes, parentSpanId } = view.span;
  const isRoot = parentSpanId === '' || attributes.get('langfuse.internal.is_app_root') === 'true';
  return isRoot
    ? {
        input: readStructure(view, 'langfuse.trace.input'),
        output: readStructure(view, 'langfuse.trace.output'),
      }
    : {};
}

/** Finds the role. Up to 3.3.0, Python's generations are spans with a model; then `agent` is a guess from a name, also of a graph's model node. */
function readRole({ span }: SpanView): SpanRole {
  const isGeneration = span.attributes.has('langfuse.observation.model.name');
  const role = TYPE_ROLES.get(span.attributes.get(TYPE)?.toLowerCase() ?? 'span') ?? 'container';
  if (role === 'agent' && isModelNode(span.name, readText(span.attributes, GRAPH_NODE))) {
    return 'container';
  }
  return role === 'container' && isGeneration ? 'llm' : role;
}

function findError({ span }: SpanView): SpanFacts['error'] {
  return span.attributes.get('langfuse.observation.level') === 'ERROR'
    ? { type: null, message: readText(span.attributes, 'langfuse.observation.status_message') ?? null }
    : undefined;
}

function generationFacts(view: SpanView, input: unknown, output: unknown): SpanFacts {
  const { attributes } = view.span;
  const answered = readMessages(output, 'assistant');
  return {
    input: readMessages(input, 'user'),
    output: answered.filter((message) => message.role === 'assistant').flatMap((message) => message.parts),
    model: readText(attributes, 'langfuse.observation.model.name'),
    usage: findUsage(readText(attributes, 'langfuse.observation.usage_details')),
  };
}

/** Reads counts under Langfuse's own names, or under the provider's names. */
function findUsage(text: string | undefined): SpanFacts['usage'] {
  const details = readFields(structureIn(text));
  const usage = usageIn(details, [
    ['input', 'prompt_tokens', 'input_tokens'],
    ['output', 'completion_tokens', 'output_tokens'],
    ['total', 'total_tokens'],
  ]);
  // Each token is counted under one of Langfuse's own names.
  const counts = Object.values(details).filter((value) => typeof value === 'number');
  const sum = countIn(details, 'input') === null ? null : counts.reduce((total, count) => total + count, 0);
  return { ...usage, totalTokens: usage.totalTokens ?? sum };
}
