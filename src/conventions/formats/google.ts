import {
  alwaysSends,
  OTEL_PYTHON_CAPTURE,
  type Convention,
  type NormalMessage,
  type NormalPart,
  type SpanError,
  type SpanFacts,
  type SpanRole,
  type SpanView,
} from '../normalised-span.ts';
import { identityUnder, readStructure, readText, rolesOf, usageIn } from '../attributes.ts';
import { field, type Fields, firstField, listIn, parseIfText, readFields, recordsIn } from '../json.ts';
import { plainText } from '../messages/part-reader.ts';
import { answerIn, questionIn, readDocuments } from '../messages/payloads.ts';
import { answerParts, readMessages, readSystem, textIn } from '../messages/read-messages.ts';
import type { Attributes } from '../../domain/trace/span.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/** Google ADK: calls as Gemini's request and response, tools with both. ADK 2 may use `otel-genai`; then only ADK's additions are removed. */
export const googleAdk: Convention = {
  name: 'google-adk',
  detect: ({ span }) => span.scopeName === 'gcp.vertex.agent',
  read: readGoogleAdk,
  signals: { keyPrefixes: ['gcp.vertex.agent'], scopePrefixes: ['gcp.vertex.agent'] },
  switches: {
    emitter: 'Google ADK',
    scopes: ['gcp.vertex.agent'],
    setting: `in ADK 2 ${OTEL_PYTHON_CAPTURE}; in ADK 1 and ADK for Java leave ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS unset or set it to true`,
    source: 'live test: google-adk 2.13; recorded: google-adk 1.20, adk for Java 1.8',
  },
};

const REQUEST = 'gcp.vertex.agent.llm_request';
const RESPONSE = 'gcp.vertex.agent.llm_response';

/** Beginning of the notes in which ADK repeats the text of another agent as a user message. */
const RELAYED_NOTE = 'For context:';
/** Text that ADK adds as a user message after a tool's response, for models that require a user message at the end. */
const GO_ON = 'Handle the requests as specified in the System Instruction.';

/** Name of an agent's span in versions without attributes. */
const OLD_AGENT = /^agent_run \[(.+)\]$/;
const CONTAINER = /^(invocation|execute_node)\b/;

/** Texts that ADK writes instead of a missing value. */
const PLACEHOLDERS = new Set(['{}', 'N/A', '<not specified>', '"<not specified>"']);

function readGoogleAdk(view: SpanView): SpanFacts {
  const { span } = view;
  const { attributes } = span;
  const facts: SpanFacts = {
    role: findRole(span),
    agent: OLD_AGENT.exec(span.name)?.[1],
    session: readText(attributes, 'gen_ai.conversation.id', 'gcp.vertex.agent.session_id'),
  };
  if (attributes.get('gen_ai.operation.name') === 'execute_tool') {
    return { ...facts, ...googleAdkToolFacts(attributes) };
  }
  const request = structure(view, REQUEST);
  const response = structure(view, RESPONSE);
  if (request === undefined && response === undefined) {
    return { ...facts, input: withoutNotes(view) };
  }
  return {
    ...facts,
    system: readSystem(firstField(field(request, 'config'), 'systemInstruction', 'system_instruction')),
    input: ownMessages(readMessages(field(request, 'contents'), 'user')),
    output: answerParts(field(response, 'content')),
    model: textOrUndefined(firstField(response, 'modelVersion', 'model_version')),
  };
}

/** Finds the role of a span. A further span sums parallel tool calls; a span without an operation is a container. */
function findRole({ name, attributes }: SpanView['span']): SpanRole | undefined {
  if (attributes.get('gcp.vertex.agent.tool_call_args') === 'N/A') {
    return 'container';
  }
  const operation = attributes.get('gen_ai.operation.name');
  if (operation === 'call_llm' || (operation === undefined && name === 'call_llm')) {
    return 'llm';
  }
  if (operation === undefined && OLD_AGENT.test(name)) {
    return 'agent';
  }
  return operation === undefined && CONTAINER.test(name) ? 'container' : undefined;
}

function structure(view: SpanView, key: string): Fields | undefined {
  const isHidden = PLACEHOLDERS.has(view.span.attributes.get(key) ?? '');
  const value = isHidden ? undefined : readStructure(view, key);
  return isRecord(value) ? value : undefined;
}

function googleAdkToolFacts(attributes: Attributes): SpanFacts {
  const [toolArgs, toolResult] = ['tool_call_args', 'tool_response'].map((key) => {
    const text = readText(attributes, `gcp.vertex.agent.${key}`) ?? '';
    return text === '' || PLACEHOLDERS.has(text) ? undefined : parseIfText(text);
  });
  return {
    toolCallId: readText(attributes, 'gen_ai.tool.call.id', 'gen_ai.tool_call.id'),
    toolArgs,
    toolResult,
  };
}

function withoutNotes(view: SpanView): NormalMessage[] | undefined {
  const hasRelayNote = view.span.attributes.get('gen_ai.input.messages')?.includes(RELAYED_NOTE) === true;
  return hasRelayNote
    ? ownMessages(readMessages(readStructure(view, 'gen_ai.input.messages'), 'user'))
    : undefined;
}

/** Removes the messages that ADK itself adds as the user. */
function ownMessages(messages: readonly NormalMessage[]): NormalMessage[] {
  return messages
    .filter((message) => message.role !== 'user' || !textIn(message.parts).startsWith(RELAYED_NOTE))
    .map((message) => {
      const parts = message.parts.filter((part) => part.type !== 'text' || part.text !== GO_ON);
      const answers =
        parts.length < message.parts.length && parts.every(({ type }) => type === 'tool-result');
      return answers && parts.length > 0 ? { role: 'tool', parts } : message;
    });
}

/** Gemini CLI. Its keys are OpenTelemetry's, with operations and values of its own. */
export const geminiCli: Convention = {
  name: 'gemini-cli',
  detect: ({ span }) => span.scopeName === 'gemini-cli',
  read: readGeminiCli,
  signals: { scopePrefixes: ['gemini-cli'] },
  switches: {
    emitter: 'Gemini CLI',
    scopes: ['gemini-cli'],
    setting: 'in the settings of Gemini CLI set telemetry.traces and telemetry.logPrompts to true',
    source: 'recorded: @google/gemini-cli-core 0.61.0',
  },
};

const OPERATION_ROLES = rolesOf({
  llm: 'llm_call',
  tool: 'tool_call',
  agent: 'agent_call',
  container: 'schedule_tool_calls user_prompt system_prompt',
});

const INPUT = 'gen_ai.input.messages';
const OUTPUT = 'gen_ai.output.messages';

function readGeminiCli(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const role = OPERATION_ROLES.get(attributes.get('gen_ai.operation.name') ?? '');
  const facts: SpanFacts = { role, withheld: ['input', 'output', 'system'] };
  if (role === 'llm') {
    return { ...facts, ...modelCallFacts(view) };
  }
  if (role === 'tool') {
    return { ...facts, ...geminiCliToolFacts(view) };
  }
  return role === 'agent' ? { ...facts, ...agentFacts(view) } : facts;
}

function modelCallFacts(view: SpanView): SpanFacts {
  const output = readStructure(view, OUTPUT);
  if (isRecord(output) && Object.hasOwn(output, 'embeddings')) {
    return { role: 'embedding' };
  }
  const { setting, messages } = takeSetting(readMessages(readStructure(view, INPUT), 'user'));
  const instructions = readSystem(readStructure(view, 'gen_ai.system_instructions'));
  return { system: [...instructions, ...setting], input: messages, output: joinPieces(output) };
}

/** Begin of the text in which the CLI tells the model its surroundings, as the first words of the user. */
const SETTING = '<session_context>';

/** Takes the surroundings out of the words of the user. */
function takeSetting(messages: readonly NormalMessage[]): { setting: string[]; messages: NormalMessage[] } {
  const setting: string[] = [];
  const spoken = messages.flatMap((message) => {
    const parts = message.parts.filter((part) => {
      const isSetting = message.role === 'user' && part.type === 'text' && part.text.startsWith(SETTING);
      setting.push(...(isSetting ? [part.text] : []));
      return !isSetting;
    });
    return parts.length === 0 ? [] : [{ ...message, parts }];
  });
  return { setting, messages: spoken };
}

/** Joins the pieces of a streamed answer: a list of contents that are one message. */
function joinPieces(output: unknown): NormalPart[] {
  const parts: NormalPart[] = [];
  for (const part of answerParts(output)) {
    const last = parts.at(-1);
    if ((part.type === 'text' || part.type === 'reasoning') && last?.type === part.type) {
      parts[parts.length - 1] = { ...last, text: last.text + part.text };
    } else {
      parts.push(part);
    }
  }
  return parts;
}

function geminiCliToolFacts(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const toolArgs = field(readStructure(view, INPUT), 'args');
  const outcome = readStructure(view, OUTPUT);
  const [response, status] = [field(outcome, 'response'), field(outcome, 'status')];
  const [part] = recordsIn(field(response, 'responseParts'));
  const isStopped = status === 'error' || status === 'cancelled';
  return {
    toolName: readText(attributes, 'gen_ai.tool.name'),
    toolCallId: readText(attributes, 'gen_ai.tool.call_id'),
    toolArgs,
    error: status === 'error' ? { type: null, message: failure(response) ?? status } : undefined,
    halt: status === 'cancelled' ? status : undefined,
    toolResult: isStopped ? undefined : field(field(part, 'functionResponse'), 'response'),
  };
}

function failure(response: unknown): string | undefined {
  const error = firstField(response, 'error');
  const said = isRecord(error) ? firstField(error, 'message') : error;
  return said === undefined ? undefined : plainText(said);
}

/** Reads a sub-agent: its parameters, and the result that the calling model gets. */
function agentFacts(view: SpanView): SpanFacts {
  const output = readStructure(view, OUTPUT);
  return {
    agent: readText(view.span.attributes, 'gen_ai.agent.name'),
    input: questionIn(readStructure(view, INPUT)),
    output: answerIn(isRecord(output) ? plainText(firstField(output, 'llmContent')) : output),
  };
}

/** Genkit: actions with input and output as JSON. `generate` spans only group (Go's have the finished conversation), so they give no facts. */
export const genkit: Convention = {
  name: 'genkit',
  detect: ({ span }) => span.attributes.has('genkit:type') || span.attributes.has('genkit:metadata:subtype'),
  read: readGenkit,
  signals: { keyPrefixes: ['genkit:'], scopePrefixes: ['genkit'] },
  switches: alwaysSends(
    'Genkit',
    ['genkit-tracer'],
    'source of @genkit-ai/core 1.42, tracing; recorded: genkit for Go 1.4',
  ),
};

const SUBTYPE_ROLES = rolesOf({
  llm: 'model background-model',
  tool: 'tool tool.v2',
  agent: 'agent',
  retriever: 'retriever reranker',
  embedding: 'embedder',
  evaluation: 'evaluator',
  other: 'indexer',
  container: 'flow',
});

const PARTS: Readonly<Record<string, (content: Fields) => Fields>> = {
  toolRequest: (call) => ({ type: 'tool_call', ...named(call), arguments: field(call, 'input') }),
  toolResponse: (answer) => ({
    type: 'tool_call_response',
    ...named(answer),
    response: field(answer, 'output'),
  }),
  media: (media) => ({ type: 'uri', mime_type: field(media, 'contentType'), uri: field(media, 'url') }),
};

function readGenkit(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const subtype = attributes.get('genkit:metadata:subtype') ?? '';
  const role = SUBTYPE_ROLES.get(subtype) ?? 'container';
  const facts: SpanFacts = {
    role,
    error: findError(view),
    ...identityUnder(attributes, ['genkit:metadata:context:', 'genkit:metadata:']),
  };
  if (role === 'llm') {
    return { ...facts, ...modelFacts(view) };
  }
  if (role === 'tool') {
    return { ...facts, ...genkitToolFacts(view, subtype) };
  }
  if (role === 'retriever') {
    return { ...facts, documents: readDocuments(readStructure(view, 'genkit:output')) };
  }
  return subtype === 'flow' || role === 'agent' ? { ...facts, ...flowFacts(view) } : facts;
}

function modelFacts(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const input = readFields(readStructure(view, 'genkit:input'));
  const output = readFields(readStructure(view, 'genkit:output'));
  const [first] = listIn(field(output, 'candidates'));
  const message = firstField(output, 'message') ?? field(first, 'message');
  const answered = firstField(output, 'raw', 'custom');

  return {
    input: listMessages(field(input, 'messages')),
    output: listMessages([message]).flatMap(({ parts }) => parts),
    model: textOrUndefined(field(answered, 'model')) ?? readText(attributes, 'genkit:name'),
    finishReason: textOrUndefined(firstField(output, 'finishReason') ?? field(first, 'finishReason')),
    responseId: textOrUndefined(field(answered, 'id')),
    usage: usageIn(field(output, 'usage'), [['inputTokens'], ['outputTokens'], ['totalTokens']]),
  };
}

function listMessages(list: unknown): NormalMessage[] {
  return readMessages(
    recordsIn(list).map((message) => ({
      role: field(message, 'role'),
      content: readContent(field(message, 'content')),
    })),
    'user',
  );
}

/** Reads content without the documents that Genkit added to the question: the retriever's span has them. */
function readContent(content: unknown): unknown {
  if (!Array.isArray(content)) {
    return content;
  }
  const parts = recordsIn(content);
  const own = parts.filter((part) => field(field(part, 'metadata'), 'purpose') !== 'context');
  return own.map((part) => {
    const key = Object.keys(PARTS).find((name) => isRecord(field(part, name)));
    const reasoning = field(part, 'reasoning');
    if (key !== undefined) {
      return PARTS[key]?.(readFields(field(part, key)));
    }
    return reasoning === undefined ? part : { type: 'reasoning', content: reasoning };
  });
}

/** Adds the id of a call, which Genkit names `ref`. */
function named(part: Fields): Fields {
  return { id: field(part, 'ref'), name: field(part, 'name') };
}

/** Reads a tool. The second form of tools may return files beside the output, so the output is wrapped. */
function genkitToolFacts({ span }: SpanView, subtype: string): SpanFacts {
  const value = parseIfText(readText(span.attributes, 'genkit:output'));
  const isWrapped = subtype === 'tool.v2' && isRecord(value) && Object.hasOwn(value, 'output');
  return {
    toolName: readText(span.attributes, 'genkit:name') ?? span.name,
    toolArgs: parseIfText(readText(span.attributes, 'genkit:input')),
    toolResult: isWrapped ? field(value, 'output') : value,
  };
}

function flowFacts(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  return {
    agent: readText(attributes, 'genkit:name'),
    input: questionIn(readStructure(view, 'genkit:input')),
    output: answerIn(readStructure(view, 'genkit:output')),
  };
}

/** Finds the failure in Genkit's own state; the span's status may not show it. */
function findError({ span }: SpanView): SpanError | undefined {
  if (span.attributes.get('genkit:state') !== 'error') {
    return undefined;
  }
  const exception = span.events.findLast((event) => event.name === 'exception')?.attributes;
  const message = exception?.get('exception.message') || span.statusMessage;
  return { type: exception?.get('exception.type') || null, message: message || null };
}
