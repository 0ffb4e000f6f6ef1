import { identityUnder, readStructure, readText, rolesOf } from '../attributes.ts';
import { field, type Fields, structureIn } from '../json.ts';
import { answerIn, argumentsIn, questionIn } from '../messages/free-values.ts';
import { isModelNode } from '../messages/langchain-messages.ts';
import { readDocuments } from '../messages/read-documents.ts';
import { readMessages } from '../messages/read-messages.ts';
import { outcomeFacts, readOutcome, toolStepFacts } from '../messages/tool-outcome.ts';
import type { Convention, SpanFacts, SpanRole, SpanView } from '../normalised-span.ts';
import { partsIn } from '../token-parts.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Langfuse's SDKs. An observation contains whatever the application or its wrapper passed. */
export const langfuse: Convention = {
  name: 'langfuse',
  detect,
  read,
  signals: { keyPrefixes: ['langfuse.'], scopePrefixes: ['langfuse'] },
  switches: [
    {
      emitter: 'Langfuse',
      scopes: ['langfuse-sdk'],
      conventions: ['langfuse'],
      setting:
        'in Langfuse leave capture_input and capture_output of observe (JavaScript: captureInput, captureOutput) out or set them to true, LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED likewise, and check the mask function',
      sendsByDefault: true,
      source: 'reference of langfuse’s observe; recorded: langfuse 5',
    },
  ],
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

function detect({ span }: SpanView): boolean {
  return span.attributes.has(TYPE) || span.scopeName === 'langfuse-sdk';
}

function read(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const facts: SpanFacts = {
    role: readRole(view),
    session: readText(attributes, 'session.id', 'langfuse.session.id') ?? metadataIdentity(view).session,
    user: readText(attributes, 'user.id', 'langfuse.user.id') ?? metadataIdentity(view).user,
    error: findError(view),
  };
  const input = readStructure(view, attributes, INPUT);
  const output = readStructure(view, attributes, OUTPUT);
  if (facts.role === 'llm') {
    return { ...facts, ...generationFacts(view, input, output) };
  }
  if (facts.role === 'tool') {
    return { ...facts, ...toolFacts(view, input, output) };
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
    ...(facts.role === 'agent' ? agentFacts(view) : {}),
    input: questionIn(argumentsIn(input ?? trace.input)),
    output: answerIn(output ?? trace.output),
  };
}

/** Reads the agent. The version of an observation is the version of the named agent. */
function agentFacts({ span }: SpanView): SpanFacts {
  return { agent: span.name, agentVersion: readText(span.attributes, 'langfuse.version') };
}

/**
 * Reads input and output that the application set on the whole trace. Some versions write them on every span; they belong to
 * the root.
 */
function traceContent(view: SpanView): { input?: unknown; output?: unknown } {
  const { attributes, parentSpanId } = view.span;
  const isRoot = parentSpanId === '' || attributes.get('langfuse.internal.is_app_root') === 'true';
  return isRoot
    ? {
        input: readStructure(view, attributes, 'langfuse.trace.input'),
        output: readStructure(view, attributes, 'langfuse.trace.output'),
      }
    : {};
}

/**
 * Finds the role. Python's SDK up to 3.3.0 calls generations spans; only a generation has a model. Later versions guess `agent`
 * from a name, also of the node of a graph that calls the model.
 */
function readRole({ span }: SpanView): SpanRole {
  const isGeneration = span.attributes.has('langfuse.observation.model.name');
  const role = TYPE_ROLES.get(span.attributes.get(TYPE)?.toLowerCase() ?? 'span') ?? 'container';
  if (role === 'agent' && isModelNode(span.name, readText(span.attributes, GRAPH_NODE))) {
    return 'container';
  }
  return role === 'container' && isGeneration ? 'llm' : role;
}

function metadataIdentity({ span }: SpanView): { session: string | undefined; user: string | undefined } {
  return identityUnder(span.attributes, ['langfuse.trace.metadata.', 'langfuse.observation.metadata.']);
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
  const parsed = structureIn(text);
  const details = isRecord(parsed) ? parsed : {};
  return {
    ...partsIn(details),
    inputTokens: countIn(details, 'input', 'prompt_tokens', 'input_tokens'),
    outputTokens: countIn(details, 'output', 'completion_tokens', 'output_tokens'),
    totalTokens: countIn(details, 'total', 'total_tokens') ?? sumOwn(details),
  };
}

/** Sums counts under Langfuse's own names: each token is counted in one of them. */
function sumOwn(details: Fields): number | null {
  const counts = Object.values(details).filter((value) => typeof value === 'number');
  return countIn(details, 'input') === null ? null : counts.reduce((sum, count) => sum + count, 0);
}

function countIn(fields: Fields, ...names: string[]): number | null {
  const count = names.map((name) => field(fields, name)).find((value) => typeof value === 'number');
  return typeof count === 'number' && count >= 0 ? count : null;
}

function toolFacts(view: SpanView, input: unknown, output: unknown): SpanFacts {
  const args = argumentsIn(input);
  const outcome = readOutcome(output);
  const id = readText(view.span.attributes, 'langfuse.observation.metadata.tool_call_id') ?? outcome.id;
  return {
    ...outcomeFacts(outcome),
    toolName: view.span.name,
    toolCallId: id,
    ...(isRecord(args) ? { toolArgs: args } : {}),
  };
}
