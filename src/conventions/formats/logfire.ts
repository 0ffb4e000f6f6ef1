import { readStructure, readText } from '../attributes.ts';
import { transferTool } from './additions.ts';
import { field, type Fields, parseIfText, structureIn } from '../json.ts';
import { textPart } from '../messages/part-reader.ts';
import { requestIn, responseIn } from '../messages/payloads.ts';
import { readMessages } from '../messages/read-messages.ts';
import type { Convention, NormalPart, SpanFacts, SpanRole, SpanView } from '../normalised-span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Logfire's own instrumentation of OpenAI's and Anthropic's clients: the request and the response as one JSON value each. */
export const logfire: Convention = {
  name: 'logfire',
  detect: ({ span }) => span.scopeName.startsWith('logfire') && span.attributes.has('request_data'),
  read: readLogfire,
  signals: { keyPrefixes: ['logfire.'], scopePrefixes: ['logfire.'] },
  switches: {
    emitter: 'Logfire (OpenAI, Anthropic)',
    scopes: ['logfire*'],
    setting:
      'Logfire’s instrumentations of model clients always send requests and responses; what its scrubbing replaced needs logfire.configure(scrubbing=…)',
    sendsByDefault: true,
    source: 'Logfire’s page on scrubbing sensitive data',
  },
};

/** Newer versions put the answer here, in a form of its own; with both versions on, the response stands beside it. */
const OUTPUT = 'gen_ai.output.messages';

function readLogfire(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const request = readStructure(view, 'request_data');
  const response = readStructure(view, 'response_data');
  const message = isRecord(response)
    ? (field(response, 'message') ?? field(response, 'combined_chunk_content'))
    : undefined;
  return {
    role: 'llm',
    ...requestIn(request),
    output: attributes.has(OUTPUT)
      ? undefined
      : responseIn(
          isRecord(message) ? { choices: [{ message: openInputs(view, message) }] } : (message ?? response),
        ),
    model: readText(attributes, 'gen_ai.response.model', 'gen_ai.request.model'),
  };
}

/** Opens the arguments of a call in Anthropic's response, which are written with the name of their field, `input`. */
function openInputs({ span }: SpanView, message: Fields): Fields {
  const calls = field(message, 'tool_calls');
  if (span.scopeName !== 'logfire.anthropic' || !Array.isArray(calls)) {
    return message;
  }
  return { ...message, tool_calls: calls.map((call: unknown) => openInput(call)) };
}

function openInput(call: unknown): unknown {
  const called = field(call, 'function');
  const args = isRecord(called) ? parseIfText(field(called, 'arguments')) : undefined;
  const input = isRecord(args) && Object.keys(args).length === 1 ? field(args, 'input') : undefined;
  return isRecord(call) && isRecord(called) && input !== undefined
    ? { ...call, function: { ...called, arguments: input } }
    : call;
}

/** Logfire's instrumentation of the OpenAI Agents SDK. Its span names are templates; the template shows the role of a span. */
export const logfireAgents: Convention = {
  name: 'logfire-agents',
  detect: ({ span }) => span.scopeName === 'logfire.openai_agents',
  read: readLogfireAgents,
  switches: {
    emitter: 'OpenAI Agents (Logfire)',
    scopes: ['logfire.openai_agents'],
    setting:
      'leave OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA (in code: trace_include_sensitive_data of RunConfig) unset or set it to true',
    sendsByDefault: true,
    source: 'configuration page of openai-agents',
  },
};

const TEMPLATE_ROLES: readonly (readonly [start: string, role: SpanRole])[] = [
  ['OpenAI Agents trace', 'container'],
  ['Task', 'workflow'],
  ['Turn', 'container'],
  ['Agent run', 'agent'],
  ['Function', 'tool'],
  ['MCP', 'container'],
  ['Handoff', 'tool'],
  ['Guardrail', 'container'],
  ['Responses API', 'llm'],
  ['Chat completion', 'llm'],
];

function readLogfireAgents(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const template = readText(attributes, 'logfire.msg_template') ?? view.span.name;
  const role = TEMPLATE_ROLES.find(([start]) => template.startsWith(start))?.[1];
  const facts: SpanFacts = { role, session: readText(attributes, 'group_id') };
  if (role === 'agent') {
    return { ...facts, agent: readText(attributes, 'name') };
  }
  if (role === 'tool') {
    const isTransfer = template.startsWith('Handoff');
    return { ...facts, ...(isTransfer ? transferTool(readText(attributes, 'to_agent')) : toolFacts(view)) };
  }
  return role === 'llm' ? { ...facts, ...modelCallFacts(view) } : facts;
}

function toolFacts({ span }: SpanView): SpanFacts {
  const args = readText(span.attributes, 'input');
  return {
    toolName: readText(span.attributes, 'name'),
    toolArgs: structureIn(args) ?? args,
    toolResult: parseIfText(readText(span.attributes, 'output')),
  };
}

/** Reads a model call. The response has the instructions; the events and the request of a chat completion have input and output in one list. */
function modelCallFacts(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const response = readStructure(view, 'response');
  const given =
    readStructure(view, 'raw_input') ?? readStructure(view, 'input') ?? readStructure(view, 'request_data');
  const output = readStructure(view, 'output');
  return {
    system: requestIn(response).system,
    input: requestIn(Array.isArray(given) ? { messages: given } : given).input,
    // The answer of a chat completion is a list of messages.
    output: responseIn(response) ?? (Array.isArray(output) ? responseIn({ output }) : undefined),
    responseId: readText(attributes, 'response_id'),
  };
}

/** Pydantic AI: its own names, the only ones in older formats; the messages are `otel-genai`'s or its events. */
export const pydanticAi: Convention = {
  name: 'pydantic-ai',
  detect: ({ span }) => span.scopeName === 'pydantic-ai',
  read: readPydanticAi,
  signals: { keyPrefixes: ['pydantic_ai.', 'all_messages_events'], scopePrefixes: ['pydantic-ai'] },
  switches: {
    emitter: 'Pydantic AI',
    scopes: ['pydantic-ai'],
    setting: 'use InstrumentationSettings(include_content=True)',
    sendsByDefault: true,
    source: 'live test: pydantic-ai 2.68',
  },
};

function readPydanticAi(view: SpanView): SpanFacts {
  const { span } = view;
  const { attributes } = span;
  const given = readText(attributes, 'final_result');
  const isDeferred = asksForResults(parseIfText(given));
  return {
    role: attributes.has('agent_name') ? 'agent' : INNER_STEP.test(span.name) ? 'container' : undefined,
    agent: readText(attributes, 'agent_name'),
    ...(isDeferred ? { halt: 'waiting' as const } : {}),
    ...readConversation(view, textPart(isDeferred ? undefined : given)),
    toolArgs: parseIfText(readText(attributes, 'tool_arguments')),
    toolResult: parseIfText(readText(attributes, 'tool_response')),
  };
}

/** True for a result that asks the application for approvals and for results of its own tools, in place of an answer. */
function asksForResults(result: unknown): boolean {
  const asked = ['calls', 'approvals'].map((key) => field(result, key));
  return asked.every(Array.isArray) && asked.flat().length > 0;
}

/** Reads the agent's whole conversation, whose part after the last question is the output; or its final result alone. */
function readConversation(view: SpanView, answer: NormalPart[]): SpanFacts {
  const all = readMessages(readStructure(view, 'pydantic_ai.all_messages'), 'user');
  const asked = all.findLastIndex((message) => message.role === 'user');
  const said = all.slice(asked + 1).flatMap((message) => message.parts);
  return { input: all.slice(0, asked + 1), output: said.length > 0 ? said : answer };
}

/** Name of a step inside of an agent. An attempt at a model request is part of the call around it, not a call. */
const INNER_STEP = /^(running tools$|model request attempt)/;
