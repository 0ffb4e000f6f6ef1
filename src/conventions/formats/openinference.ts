import { hasKey, isModelName, readCount, readStructure, readText, rolesOf } from '../attributes.ts';
import {
  field,
  type Fields,
  firstField,
  listIn,
  parseIfText,
  readFields,
  recordsIn,
  structureIn,
} from '../json.ts';
import { isModelNode } from '../messages/common-messages.ts';
import {
  answerIn,
  argumentsIn,
  outcomeFacts,
  questionIn,
  readOutcome,
  responseIn,
  toolStepFacts,
} from '../messages/payloads.ts';
import { openPrintedArguments, readDspyText } from '../messages/printed-items.ts';
import { readMessages } from '../messages/read-messages.ts';
import type { Convention, NormalMessage, SpanFacts, SpanRole, SpanView } from '../normalised-span.ts';
import { gatherList } from '../shape/carriers.ts';
import type { RetrievedDocument } from '../../domain/trace/agent-run.ts';
import type { Attributes } from '../../domain/trace/span.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/** OpenInference (Arize), from its own instrumentations or added to other spans by span processors. */
export const openinference: Convention = {
  name: 'openinference',
  detect: ({ span }) => span.attributes.has('openinference.span.kind'),
  read,
  signals: {
    keyPrefixes: ['openinference.', 'llm.', 'smolagents.'],
    scopePrefixes: ['openinference.', '@arizeai/openinference', 'smolagents'],
  },
  switches: {
    emitter: 'OpenInference',
    scopes: ['openinference*', '@arizeai/*'],
    conventions: ['crewai', 'openinference'],
    setting: 'leave OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS unset or set them to false',
    sendsByDefault: true,
    source: 'source of openinference-instrumentation 0.1.72, config',
  },
};

const KIND_ROLES = rolesOf({
  llm: 'LLM',
  agent: 'AGENT',
  tool: 'TOOL',
  container: 'CHAIN GUARDRAIL PROMPT',
  retriever: 'RETRIEVER RERANKER',
  embedding: 'EMBEDDING',
});

const READERS: Partial<Record<SpanRole, (view: SpanView) => SpanFacts>> = {
  llm: modelCallFacts,
  tool: toolFacts,
  retriever: ({ span }) => ({ documents: listDocuments(span.attributes) }),
  agent: (view) => ({ agent: agentName(view), ...findValues(view), ...transcriptFacts(view) }),
  container: stepFacts,
};

/** Prompts of a text completion, as a list of texts; others flatten them. */
const PROMPTS = 'llm.prompts';

function read(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const role = findRole(view);
  const shared: SpanFacts = { role, ...metadataIdentity(attributes) };
  return { ...shared, ...READERS[role ?? 'other']?.(view) };
}

/** Finds the role: kinds are guessed from names, so a tool's name makes a tool, a named graph an agent, and a graph's model node `agent` none. */
function findRole({ span }: SpanView): SpanRole | undefined {
  const { attributes } = span;
  const kind = attributes.get('openinference.span.kind')?.toUpperCase() ?? '';
  const role = KIND_ROLES.get(kind);
  if (role === 'agent' && readText(attributes, 'tool.name', 'tool.parameters') !== undefined) {
    return 'tool';
  }
  const metadata = role === 'agent' || role === 'container' ? readMetadata(attributes) : {};
  if (role === 'agent' && isModelNode(span.name, field(metadata, 'langgraph_node'))) {
    return 'container';
  }
  if (role === 'container') {
    const isAgent = field(metadata, 'ls_integration') === 'langchain_create_agent';
    return isAgent && field(metadata, 'lc_agent_name') === span.name ? 'agent' : role;
  }
  return role === 'llm' && !isModelCall(attributes) && span.statusCode !== 'Error' ? 'container' : role;
}

/** True for a model call. A span of kind LLM without messages, token counts or text is only a step before one. */
function isModelCall(attributes: Attributes): boolean {
  return (
    attributes.has(PROMPTS) ||
    hasKey(attributes, /^llm\.(input_messages|output_messages|token_count|prompts|choices)\./)
  );
}

function readMetadata(attributes: Attributes): Fields {
  return readFields(structureIn(readText(attributes, 'metadata')));
}

function metadataIdentity(attributes: Attributes): SpanFacts {
  const metadata = readMetadata(attributes);
  const session = firstField(metadata, 'session_id', 'sessionId', 'conversation_id', 'thread_id', 'threadId');
  return {
    session: readText(attributes, 'session.id') ?? textOrUndefined(session),
    user: readText(attributes, 'user.id') ?? textOrUndefined(firstField(metadata, 'user_id', 'userId')),
  };
}

const MODEL_KEYS = [
  'llm.response.model_name',
  'llm.output_model_name',
  'llm.model_name',
  'llm.request.model_name',
  'llm.input_model_name',
];

function modelCallFacts(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const values = findValues(view);
  const input = flattenedMessages(attributes, 'llm.input_messages', values.input);
  const output = flattenedMessages(attributes, 'llm.output_messages').flatMap(({ parts }) => parts);
  const count = (...keys: string[]): number | null => readCount(attributes, ...keys) ?? null;
  return {
    input: input.length > 0 ? input : (findPrompt(view) ?? values.input),
    output:
      output.length > 0
        ? readDspyText(output)
        : (findCompletion(attributes) ?? failedOr(view, values.output)),
    model: [
      ...MODEL_KEYS.map((key) => attributes.get(key)),
      textOrUndefined(field(readMetadata(attributes), 'ls_model_name')),
    ].find(isModelName),
    provider: readText(attributes, 'llm.provider', 'llm.system'),
    finishReason: readText(attributes, 'llm.finish_reason'),
    usage: {
      inputTokens: count('llm.token_count.prompt'),
      outputTokens: count('llm.token_count.completion'),
      totalTokens: count('llm.token_count.total'),
    },
  };
}

/** Finds the prompt of a text completion: the first of the list, or of the flattened ones. */
function findPrompt(view: SpanView): NormalMessage[] | undefined {
  const { attributes } = view.span;
  const prompts = readStructure(view, PROMPTS);
  const first: unknown = Array.isArray(prompts) ? prompts[0] : prompts;
  const text = readText(attributes, `${PROMPTS}.0.prompt.text`) ?? first;
  return typeof text === 'string' ? questionIn(text) : undefined;
}

function findCompletion(attributes: Attributes): SpanFacts['output'] {
  const text = readText(attributes, 'llm.choices.0.completion.text');
  return text === undefined ? undefined : answerIn(text);
}

/** Reads the agents of the Claude Agent SDK, which have texts and tool calls on their own span and no model calls below. */
function transcriptFacts(view: SpanView): SpanFacts {
  if (!/claude[-_]agent[-_]sdk$/.test(view.span.scopeName)) {
    return {};
  }
  const { output, model, provider, usage } = modelCallFacts(view);
  return { ...(output === undefined ? {} : { output }), model, provider, usage };
}

/** Drops the output of a failed call: it is the error text, not an answer. */
function failedOr(view: SpanView, output: SpanFacts['output']): SpanFacts['output'] {
  return view.span.statusCode === 'Error' ? undefined : output;
}

function parseValues(view: SpanView) {
  const [input, output] = ['input.value', 'output.value'].map((key) => readStructure(view, key));
  return { input, output };
}

/** Reads input and output of a span from its free-form values, when they can be read. */
function findValues(view: SpanView, { input, output } = parseValues(view)) {
  return {
    input: questionIn(openArguments(input)),
    output: failedOr(
      view,
      isRecord(output) && Array.isArray(field(output, 'choices')) ? responseIn(output) : answerIn(output),
    ),
  };
}

/** Reads a step; one whose output is a tool's message is a tool call of a general kind. */
function stepFacts(view: SpanView): SpanFacts {
  const values = parseValues(view);
  const tool = toolStepFacts(values.input, values.output);
  return tool === undefined
    ? { agent: readText(view.span.attributes, 'agent.name'), ...findValues(view, values) }
    : { ...tool, toolName: tool.toolName ?? view.span.name };
}

function openArguments(input: unknown): unknown {
  if (!isRecord(input)) {
    return input;
  }
  return field(input, 'input_args') ?? (Array.isArray(field(input, 'args')) ? argumentsIn(input) : input);
}

/** Reads the agent's name from the span's name, for instrumentations without an attribute for it. */
function agentName({ span }: SpanView): string {
  const named = readText(span.attributes, 'agent.name');
  const bracketed = /^agent_run \[(.+)\]$/.exec(span.name)?.[1];
  return (
    named ??
    bracketed ??
    span.name.replace(/\.(a?run(_stream)?|_execute_core|on_messages(_stream)?|kickoff)$/, '')
  );
}

function listDocuments(attributes: Attributes): RetrievedDocument[] {
  const reranked = documentsBelow(attributes, 'reranker.output_documents');
  return reranked.length > 0 ? reranked : documentsBelow(attributes, 'retrieval.documents');
}

function documentsBelow(attributes: Attributes, prefix: string): RetrievedDocument[] {
  return gatherList(attributes, prefix, 'document.').flatMap((item) => {
    const [id, content, score] = ['id', 'content', 'score'].map((name) =>
      textOrUndefined(field(field(item, 'document'), name)),
    );
    return content === undefined
      ? []
      : [{ id: id ?? null, content, score: score === undefined ? null : Number(score) }];
  });
}

/** Name of a transfer's span. It names the two agents; arguments and result are in the messages. */
const HANDOFF = /^hand ?off[ _]to[ _]/i;

/** Reads a tool span of OpenInference, whose input and output depend on the framework. */
function toolFacts({ span }: SpanView): SpanFacts {
  const { attributes } = span;
  const name = readText(attributes, 'tool.name') ?? span.name.replace(/\.(__call__|run)$/, '');
  if (HANDOFF.test(name)) {
    return { toolName: name };
  }
  const output = readText(attributes, 'output.value');
  const result = readOutcome(parseIfText(output));
  const args = findArgs(attributes);
  return {
    ...outcomeFacts(result),
    toolName: name,
    toolCallId: readText(attributes, 'tool.id', 'tool_call.id') ?? result.id,
    ...(args === undefined ? {} : { toolArgs: args }),
    ...(args === undefined ? {} : delegatedFacts(args, result.value)),
  };
}

/** Reads the call of a sub-agent in the Claude Agent SDK, whose own span has neither name, question nor answer. */
function delegatedFacts(args: Fields, result: unknown): SpanFacts {
  const [agent, prompt] = [textOrUndefined(field(args, 'subagent_type')), field(args, 'prompt')];
  return agent === undefined ? {} : { agent, input: questionIn(prompt), output: answerIn(result) };
}

/** Finds the arguments when they are an object; a bare value has no name any more, but the model's call has it. */
function findArgs(attributes: Attributes): Fields | undefined {
  for (const key of ['input.value', 'tool_call.function.arguments', 'tool.parameters']) {
    const text = readText(attributes, key);
    const value = text === undefined ? undefined : (structureIn(text) ?? openPrintedArguments(text));
    if (isRecord(value) && !isSchema(value)) {
      const named = field(value, 'kwargs');
      return isRecord(named) ? named : value;
    }
  }
  return undefined;
}

function isSchema(value: Fields): boolean {
  return field(value, 'type') === 'object' || isRecord(field(value, 'properties'));
}

/**
 * Rebuilds messages that were flattened into one attribute per field (`llm.input_messages.3.message.role`). LangChain's
 * instrumentation flattens a message of content blocks to its role alone: such a message is taken from `whole`, the same
 * messages in another form.
 */
function flattenedMessages(
  attributes: Attributes,
  prefix: 'llm.input_messages' | 'llm.output_messages',
  whole: readonly NormalMessage[] = [],
): NormalMessage[] {
  const messages = gatherList(attributes, prefix, 'message.').map((item) =>
    readFields(field(item, 'message')),
  );
  const filled = fillHollow(messages, whole);
  const defaultRole = prefix === 'llm.output_messages' ? 'assistant' : 'user';
  return messages.flatMap((message) => filled.get(message) ?? toMessages(message, defaultRole));
}

/** Replaces every message that has a role and nothing else, when both forms have the same number of messages of that role. */
function fillHollow(
  messages: readonly Fields[],
  whole: readonly NormalMessage[],
): Map<Fields, NormalMessage> {
  const filled = new Map<Fields, NormalMessage>();
  if (!messages.some(isHollow)) {
    return filled;
  }
  const wholeByRole = Map.groupBy(whole, ({ role }): string => role);
  for (const [role, group] of Map.groupBy(messages, (message) => textOrUndefined(field(message, 'role')))) {
    const found = wholeByRole.get(role ?? '') ?? [];
    group.forEach((message, index) => {
      const same = found.length === group.length && isHollow(message) ? found[index] : undefined;
      if (same !== undefined) {
        filled.set(message, same);
      }
    });
  }
  return filled;
}

function isHollow(message: Fields): boolean {
  return Object.keys(message).join() === 'role';
}

function toMessages(message: Fields, defaultRole: 'assistant' | 'user'): NormalMessage[] {
  const content = textOrUndefined(field(message, 'content'));
  const parts = [
    ...listIn(field(message, 'content')).map((text) => ({ type: 'text', text })),
    ...recordsIn(field(message, 'contents')).map((block) =>
      toPart(readFields(field(block, 'message_content'))),
    ),
  ];
  const isRepeated = parts.some((part) => field(part, 'text') === content);
  const onlyReasoning = parts.length > 0 && parts.every((part) => part.type === 'reasoning');
  const calls = recordsIn(field(message, 'tool_calls')).map((item) => field(item, 'tool_call'));
  const named = textOrUndefined(field(message, 'role'));
  const role = named ?? (onlyReasoning || calls.length > 0 ? 'assistant' : defaultRole);
  const isTool = role === 'tool' || role === 'function';
  const legacy = {
    name: field(message, 'function_call_name'),
    arguments: field(message, 'function_call_arguments_json'),
  };
  const all = content === undefined || isRepeated ? parts : [{ type: 'text', text: content }, ...parts];
  const asked = calls.map((call) => ({ id: field(call, 'id'), function: field(call, 'function') }));
  return readMessages(
    [
      {
        role,
        content: isTool ? (content ?? listIn(field(message, 'function'))[0]) : all,
        tool_calls: [...asked, { function: legacy }].filter(
          (call) => field(call.function, 'name') !== undefined,
        ),
        tool_call_id: field(message, 'tool_call_id'),
        name: isTool ? field(message, 'name') : undefined,
      },
    ],
    defaultRole,
  );
}

function toPart(block: Fields): { type: string; [name: string]: unknown } {
  const type = textOrUndefined(field(block, 'type')) ?? 'text';
  const uri = urlIn(block);
  return uri === undefined
    ? {
        type: type === 'reasoning' || type === 'summary_text' ? 'reasoning' : 'text',
        text: field(block, 'text'),
      }
    : { type: 'uri', modality: type, uri };
}

/** Finds the address of an image or a sound, which is inside of objects with its kind. */
function urlIn(block: Fields): unknown {
  const inner = Object.values(block).filter(isRecord);
  return inner.map((one) => field(one, 'url') ?? urlIn(one)).find((url) => url !== undefined);
}
