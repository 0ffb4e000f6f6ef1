import { readStructure, readText } from '../attributes.ts';
import { structureIn, parseIfText } from '../json.ts';
import { requestIn, responseIn } from '../messages/payloads.ts';
import { transferTool } from './additions.ts';
import type { Convention, SpanFacts, SpanRole, SpanView } from '../normalised-span.ts';

/** Logfire's instrumentation of the OpenAI Agents SDK. Its span names are templates; the template shows the role of a span. */
export const logfireAgents: Convention = {
  name: 'logfire-agents',
  detect: ({ span }) => span.scopeName === 'logfire.openai_agents',
  read,
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

function read(view: SpanView): SpanFacts {
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
