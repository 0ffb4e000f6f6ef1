import { OTEL_PYTHON_CAPTURE } from '../advice/content-switch.ts';
import type { Attributes } from '../../domain/trace/span.ts';
import { readStructure, readText } from '../attributes.ts';
import { type Fields, field, firstField, parseIfText } from '../json.ts';
import { readMessages, readSystem, textIn, answerParts } from '../messages/read-messages.ts';
import type { Convention, NormalMessage, SpanFacts, SpanRole, SpanView } from '../normalised-span.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/**
 * Google ADK in Python, Java and JavaScript: model calls as Gemini's own request and response, tools with their arguments and
 * responses. ADK 2 may use `otel-genai` instead; then this convention only removes ADK's additions to the conversation.
 */
export const googleAdk: Convention = {
  name: 'google-adk',
  detect: ({ span }) => span.scopeName === 'gcp.vertex.agent',
  read,
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

function requestFacts(request: Fields): SpanFacts {
  return {
    system: readSystem(firstField(field(request, 'config'), 'systemInstruction', 'system_instruction')),
    input: ownMessages(readMessages(field(request, 'contents'), 'user')),
  };
}

function responseFacts(response: Fields): SpanFacts {
  return {
    output: answerParts(field(response, 'content')),
    model: textOrUndefined(firstField(response, 'modelVersion', 'model_version')),
  };
}

function toolFacts(attributes: Attributes): SpanFacts {
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
