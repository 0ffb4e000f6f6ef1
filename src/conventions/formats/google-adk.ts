import { OTEL_PYTHON_CAPTURE, type ContentSwitch } from '../content-switch.ts';
import type { Attributes } from '../../domain/span.ts';
import { readStructure, readText } from '../attributes.ts';
import { type Fields, field, firstField, isFields, parseValue, textOrUndefined } from '../json.ts';
import { readMessages, readSystem, textIn } from '../messages/read-messages.ts';
import type { Convention, NormalMessage, SpanFacts, SpanRole, SpanView } from '../normalised-span.ts';

/** Settings that make its emitters send content. */
const SWITCHES: readonly ContentSwitch[] = [
  {
    emitter: 'Google ADK',
    scopes: ['gcp.vertex.agent'],
    conventions: ['google-adk'],
    setting: `in ADK 2 ${OTEL_PYTHON_CAPTURE}; in ADK 1 and ADK for Java leave ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS unset or set it to true`,
    sendsByDefault: false,
    source: 'live test: google-adk 2.13; recorded: google-adk 1.20, adk for Java 1.8',
  },
];

/**
 * Google ADK in Python, Java and JavaScript: model calls as Gemini's own request and response, tools with their arguments
 * and responses. ADK 2 may speak `otel-genai` instead; then only what ADK adds to the conversation is taken out here.
 */
export const googleAdk: Convention = {
  name: 'google-adk',
  detect,
  read,
  signals: { keyPrefixes: ['gcp.vertex.agent'], scopePrefixes: ['gcp.vertex.agent'] },
  switches: SWITCHES,
};

const REQUEST = 'gcp.vertex.agent.llm_request';
const RESPONSE = 'gcp.vertex.agent.llm_response';

/** Start of the notes in which ADK repeats another agent's words as the user's. */
const RELAYED_NOTE = 'For context:';
/** Text that ADK adds as the user after a tool's response, for models that need the user to speak last. */
const GO_ON = 'Handle the requests as specified in the System Instruction.';

/** An agent's span before it had attributes, and its name. */
const OLD_AGENT = /^agent_run \[(.+)\]$/;
const CONTAINER = /^(invocation|execute_node)\b/;

/** In place of a value that ADK does not have. */
const PLACEHOLDERS = new Set(['{}', 'N/A', '<not specified>', '"<not specified>"']);

function detect({ span }: SpanView): boolean {
  return span.scopeName === 'gcp.vertex.agent';
}

function read(view: SpanView): SpanFacts {
  const { span } = view;
  const { attributes } = span;
  const facts: SpanFacts = {
    role: findRole(span),
    agent: OLD_AGENT.exec(span.name)?.[1],
    session: readText(attributes, 'gen_ai.conversation.id', 'gcp.vertex.agent.session_id'),
  };
  if (attributes.get('gen_ai.operation.name') === 'execute_tool') {
    return { ...facts, ...toolFacts(attributes) };
  }
  const request = structure(view, REQUEST);
  const response = structure(view, RESPONSE);
  if (request === undefined && response === undefined) {
    return { ...facts, input: withoutNotes(view) };
  }
  return { ...facts, ...requestFacts(request ?? {}), ...responseFacts(response ?? {}) };
}

/** Parallel tool calls are summed up in a further span; what names no operation holds others together. */
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
  const value = isHidden ? undefined : readStructure(view, view.span.attributes, key);
  return isFields(value) ? value : undefined;
}

function requestFacts(request: Fields): SpanFacts {
  const config = field(request, 'config');
  const instruction = isFields(config)
    ? firstField(config, 'systemInstruction', 'system_instruction')
    : undefined;
  return {
    system: instruction === undefined ? undefined : readSystem(instruction),
    input: ownMessages(readMessages(field(request, 'contents'), 'user')),
  };
}

function responseFacts(response: Fields): SpanFacts {
  const content = field(response, 'content');
  return {
    output:
      content === undefined ? undefined : readMessages(content, 'assistant').flatMap(({ parts }) => parts),
    model: textOrUndefined(firstField(response, 'modelVersion', 'model_version')),
  };
}

function toolFacts(attributes: Attributes): SpanFacts {
  const told = (key: string): string | undefined => {
    const text = readText(attributes, key);
    return text === undefined || PLACEHOLDERS.has(text) ? undefined : text;
  };
  const args = told('gcp.vertex.agent.tool_call_args');
  const result = told('gcp.vertex.agent.tool_response');
  return {
    toolCallId: readText(attributes, 'gen_ai.tool.call.id', 'gen_ai.tool_call.id'),
    ...(args === undefined ? {} : { toolArgs: parseValue(args) }),
    ...(result === undefined ? {} : { toolResult: parseValue(result) }),
  };
}

function withoutNotes(view: SpanView): NormalMessage[] | undefined {
  const told = view.span.attributes.get('gen_ai.input.messages')?.includes(RELAYED_NOTE) === true;
  return told
    ? ownMessages(readMessages(readStructure(view, view.span.attributes, 'gen_ai.input.messages'), 'user'))
    : undefined;
}

/** The messages without what ADK itself says in the user's name. */
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
