import {
  alwaysSends,
  type ContentSwitch,
  OTEL_PYTHON_CAPTURE,
  type Convention,
  type NormalMessage,
  type SpanFacts,
  type SpanRole,
  type SpanView,
} from '../normalised-span.ts';
import {
  findFirst,
  hasKey,
  isModelName,
  readCount,
  readList,
  readStructure,
  readText,
  rolesOf,
} from '../attributes.ts';
import { field, listIn, parseIfText, parseValue, readFields, structureIn } from '../json.ts';
import { plainText, unwrapBlock } from '../messages/part-reader.ts';
import { outcomeFacts, readDocuments, readOutcome, requestIn, responseIn } from '../messages/payloads.ts';
import { openPrintedArguments, readPrintedToolMessage } from '../messages/printed-items.ts';
import { readMessages, readSystem } from '../messages/read-messages.ts';
import type { Attributes } from '../../domain/trace/span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Key of spans whose values `openinference` reads. */
const OPENINFERENCE_KIND = 'openinference.span.kind';

/** Event with the content of a model call, when it is not on the span (or a copy of it when it is). */
const DETAILS_EVENT = 'gen_ai.client.inference.operation.details';

/** Name of the further span in which Google ADK sums parallel tool calls. */
const MERGED_TOOLS = '(merged tools)';

/** Roles by operation name; names beyond the specification come from real emitters. */
const OPERATION_ROLES = rolesOf({
  llm: 'chat generate_content text_completion completion generate chat.completions text.completions decide inference',
  embedding: 'embeddings embedding',
  retriever: 'retrieval rerank retriever',
  tool: 'execute_tool tool',
  agent: 'invoke_agent agent',
  workflow: 'invoke_workflow invoke_graph invoke_swarm',
  other:
    'create_agent search_memory create_memory update_memory upsert_memory delete_memory create_memory_store delete_memory_store',
  container:
    'agent_step plan task execute_task workflow chain model_generation model_chunk execute_event_loop_cycle execute_agent_loop_cycle',
});

const SWITCHES: readonly ContentSwitch[] = [
  {
    emitter: 'OpenTelemetry (Python)',
    scopes: [
      'opentelemetry.instrumentation.openai_v2',
      'opentelemetry.instrumentation.genai*',
      'opentelemetry.util.genai*',
    ],
    conventions: [],
    setting: OTEL_PYTHON_CAPTURE,
    source: 'recorded: opentelemetry-util-genai 0.4b0 to 1.3b0',
  },
  {
    emitter: 'OpenTelemetry',
    scopes: ['opentelemetry.*'],
    setting: OTEL_PYTHON_CAPTURE,
    source: 'recorded: opentelemetry-util-genai 0.4b0 to 1.3b0',
  },
  {
    emitter: 'OpenTelemetry (JavaScript)',
    scopes: ['@opentelemetry/*'],
    setting: 'set captureMessageContent: true in the instrumentation’s options',
    source: 'live test: @opentelemetry/instrumentation-openai 0.22',
  },
  {
    emitter: 'OpenTelemetry (Java): openai-java, LangChain4j',
    scopes: ['io.opentelemetry.*'],
    setting:
      'set otel.instrumentation.genai.capture-message-content=true (of the library: setCaptureMessageContent(true)) and export logs',
    source: 'recorded: opentelemetry-javaagent 2.33.1, opentelemetry-openai-java 2.31.1',
  },
  {
    emitter: 'Semantic Kernel',
    scopes: ['semantic_kernel*', 'Microsoft.SemanticKernel*'],
    setting: 'set SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true',
    source: 'reference of semantic_kernel.utils.telemetry.model_diagnostics',
  },
  {
    emitter: 'Microsoft.Extensions.AI and Agent Framework (.NET)',
    scopes: ['Experimental.Microsoft.Extensions.AI*', 'Experimental.Microsoft.Agents.AI*'],
    setting: 'set EnableSensitiveData = true on UseOpenTelemetry',
    source: 'reference of Microsoft.Extensions.AI.OpenTelemetryChatClient',
  },
  {
    emitter: 'Azure AI (agents, projects, inference)',
    scopes: ['azure.ai.*', 'Azure.AI.*'],
    setting:
      'set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true (older versions: AZURE_TRACING_GEN_AI_CONTENT_RECORDING_ENABLED=true)',
    source: 'reference of azure.ai.projects.telemetry and of GenAITracingOptions',
  },
  {
    emitter: 'AutoGen',
    scopes: ['autogen*'],
    setting: 'add the OpenInference instrumentation for AutoGen: its own spans never carry content',
    source: 'recorded: autogen-agentchat, with and without it',
  },
  {
    ...alwaysSends(
      'Strands',
      ['strands-agents*', 'strands.telemetry*'],
      'Strands’ page on redaction; source of @strands-agents/sdk 1.19, telemetry',
    ),
    emitter: 'Strands Agents',
  },
];

/** OpenTelemetry GenAI semantic conventions 1.37 and later: messages as attributes of the span, or of a details event (record or span event). */
export const otelGenai: Convention = {
  name: 'otel-genai',
  detect: ({ span, logs }) =>
    hasKey(span.attributes, /^gen_ai\./) ||
    logs.some(isDetails) ||
    span.events.some((event) => event.name === DETAILS_EVENT),
  read,
  signals: {
    keyPrefixes: ['gen_ai.'],
    scopePrefixes:
      'opentelemetry.instrumentation.openai opentelemetry.instrumentation.genai opentelemetry.instrumentation.anthropic opentelemetry.instrumentation.langchain opentelemetry.util.genai @opentelemetry/instrumentation-openai io.opentelemetry.openai semantic_kernel Microsoft.SemanticKernel Experimental.Microsoft. autogen azure.ai. strands'.split(
        ' ',
      ),
    eventPrefixes: ['gen_ai.'],
  },
  switches: SWITCHES,
};

function isDetails(log: { eventName: string }): boolean {
  return log.eventName === DETAILS_EVENT;
}

function read(view: SpanView): SpanFacts {
  const sources: Attributes[] = [
    view.span.attributes,
    ...view.span.events.filter((event) => event.name === DETAILS_EVENT).map((event) => event.attributes),
    ...view.logs.filter(isDetails).flatMap(({ attributes, body }) => [attributes, readBody(body)]),
  ];
  const get = (...keys: string[]): string | undefined =>
    findFirst(sources, (source) => readText(source, ...keys));
  const role = isServedTool(view) ? 'container' : findRole(get, view);
  const session = get('gen_ai.conversation.id', 'gen_ai.session.id');
  const facts: SpanFacts = {
    role,
    model: ['gen_ai.response.model', 'gen_ai.request.model'].map((key) => get(key)).find(isModelName),
    provider: ['gen_ai.provider.name', 'gen_ai.system']
      .map((key) => get(key))
      .find((name) => name !== undefined && !FRAMEWORKS.has(name)),
    responseId: get('gen_ai.response.id'),
    finishReason: findFirst(sources, (source) => readList(source, 'gen_ai.response.finish_reasons').at(-1)),
    // Some emitters write the response's id as the id of the conversation.
    session: session?.startsWith('resp_') === true ? undefined : session,
    user: get('gen_ai.user.id', 'gen_ai.user'),
    usage: findUsage(sources),
    contentByReference: hasReference(sources) || undefined,
    ...readContent(view, sources, role),
  };
  if (role === 'tool') {
    const isPlain = !view.span.attributes.has(OPENINFERENCE_KIND);
    return { ...facts, ...buildTool(get, isPlain ? ['input.value', 'output.value'] : []) };
  }
  // On a span of another convention it may be the agent that calls a tool.
  if (role !== undefined || get('gen_ai.operation.name') !== undefined) {
    facts.agent = get('gen_ai.agent.name', ...(role === 'workflow' ? ['gen_ai.workflow.name'] : []));
  }
  return facts;
}

/** Reads the body of a record of details: older writers put the messages there, not among the attributes. */
function readBody(body: string): Attributes {
  const fields = readFields(structureIn(body));
  const texts = Object.entries(fields).map(([key, value]): [string, string] => [key, plainText(value)]);
  return new Map(texts.filter(([key]) => key.startsWith('gen_ai.')));
}

/** True for the server’s side of a request of the Model Context Protocol: the call of its tool is the agent’s. */
function isServedTool({ span }: SpanView): boolean {
  return span.kind === 'Server' && span.attributes.has('mcp.method.name');
}

/** Names of frameworks that some frameworks write in the place of the provider. */
const FRAMEWORKS = new Set(
  'agent_framework autogen gcp.vertex.agent langchain langgraph microsoft.agent_framework spring_ai strands-agents'.split(
    ' ',
  ),
);

type Get = (...keys: string[]) => string | undefined;

/** Finds the role from the operation, else from names, ids of cycles or captured messages. A model name alone is no model call. */
function findRole(get: Get, { span }: SpanView): SpanRole | undefined {
  const operation = get('gen_ai.operation.name');
  if (get('gen_ai.tool.name') === MERGED_TOOLS) {
    return 'container';
  }
  if (operation !== undefined) {
    return OPERATION_ROLES.get(operation.toLowerCase());
  }
  if (get('gen_ai.tool.call.id', 'gen_ai.tool.call.arguments', 'gen_ai.tool.name') !== undefined) {
    return 'tool';
  }
  if (
    get('agent_loop.cycle_id', 'event_loop.cycle_id', 'gen_ai.step.name', 'gen_ai.step.type') !== undefined
  ) {
    return 'container';
  }
  if (get('gen_ai.workflow.name') !== undefined) {
    return 'workflow';
  }
  if (get('db.operation') === 'search') {
    return 'retriever';
  }
  const [asked, answered] = [get('gen_ai.input.messages'), get('gen_ai.output.messages')];
  if (get('gen_ai.request.model', 'gen_ai.response.model') !== undefined) {
    return asked !== undefined || answered !== undefined ? 'llm' : undefined;
  }
  return span.parentSpanId === '' && asked !== undefined && answered !== undefined ? 'agent' : undefined;
}

/** Keys of the counts. The last of each is Semantic Kernel's of 2024. */
const INPUT_COUNTS = ['usage.input_tokens', 'usage.prompt_tokens', 'response.prompt_tokens'];
const OUTPUT_COUNTS = ['usage.output_tokens', 'usage.completion_tokens', 'response.completion_tokens'];

function findUsage(sources: readonly Attributes[]): SpanFacts['usage'] {
  const count = (...names: string[]): number | null => {
    const keys = names.map((name) => `gen_ai.${name}`);
    return findFirst(sources, (source) => readCount(source, ...keys)) ?? null;
  };
  return {
    inputTokens: count(...INPUT_COUNTS),
    outputTokens: count(...OUTPUT_COUNTS),
    totalTokens: count('usage.total_tokens'),
  };
}

function hasReference(sources: readonly Attributes[]): boolean {
  const keys = ['gen_ai.input.messages_ref', 'gen_ai.output.messages_ref', 'gen_ai.system_instructions_ref'];
  return sources.some((source) => keys.some((key) => source.has(key)));
}

function readContent(view: SpanView, sources: readonly Attributes[], role: SpanRole | undefined): SpanFacts {
  const structure = (key: string): unknown =>
    findFirst(sources, (source) => readStructure(view, key, source));
  const isPlain = role !== 'tool' && !view.span.attributes.has(OPENINFERENCE_KIND);
  const value = (key: string): unknown => (isPlain ? structure(key) : undefined);
  // Latitude's older versions have a dot in the name.
  const instructions = structure('gen_ai.system_instructions') ?? structure('gen_ai.system.instructions');
  const input = structure('gen_ai.input.messages');
  const output = structure('gen_ai.output.messages');
  const documents =
    structure('gen_ai.retrieval.documents') ?? (role === 'retriever' ? hitsIn(output) : undefined);
  return {
    system: readSystem(instructions),
    input: input === undefined ? requestIn(value('input.value')).input : readMessages(input, 'user'),
    output:
      output === undefined
        ? responseIn(value('output.value'))
        : outputParts(readMessages(output, 'assistant'), role),
    documents: documents === undefined ? undefined : readDocuments(documents),
  };
}

/** Finds the hits of a search: its output, or the content of the only message of its output. */
function hitsIn(output: unknown): unknown {
  const [message] = listIn(output);
  return isRecord(message) ? parseIfText(field(message, 'content')) : output;
}

/** Reads the output: a model's messages are alternatives, the first counts; an agent's are its transcript, behind the last user message. */
function outputParts(messages: NormalMessage[], role: SpanRole | undefined): SpanFacts['output'] {
  const areChoices =
    role === 'llm' && messages.every((message) => message.parts.some((part) => part.type === 'text'));
  const lastAsked = messages.findLastIndex((message) => message.role === 'user' || message.role === 'system');
  const chosen = areChoices ? messages.slice(0, 1) : messages.slice(lastAsked + 1);
  return chosen.flatMap((message) => message.parts);
}

function buildTool(get: Get, [given, got]: readonly string[]): SpanFacts {
  const args = get('gen_ai.tool.call.arguments', ...(given === undefined ? [] : [given]));
  const result = get('gen_ai.tool.call.result', ...(got === undefined ? [] : [got]));
  const outcome = result === undefined ? {} : resultFacts(result);
  return {
    ...outcome,
    toolName: get('gen_ai.tool.name'),
    toolCallId: get('gen_ai.tool.call.id')?.trim() ?? outcome.toolCallId,
    ...(args === undefined ? {} : { toolArgs: openPrintedArguments(parseValue(args)) }),
  };
}

function resultFacts(result: string): SpanFacts {
  const message = readPrintedToolMessage(result);
  return message === undefined
    ? { toolResult: unwrapBlock(parseValue(result)) }
    : outcomeFacts(readOutcome(message));
}
