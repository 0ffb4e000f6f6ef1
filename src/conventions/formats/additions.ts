import { OTEL_PYTHON_CAPTURE, type Convention, type SpanFacts } from '../normalised-span.ts';
import { readText, rolesOf } from '../attributes.ts';
import { field, parseIfText, parseValue, structureIn } from '../json.ts';
import { readMessages } from '../messages/read-messages.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/** Agent Framework's workflow span, a name only, and .NET's span around a call's tools, which sums usage below. The rest is `otel-genai`. */
export const agentFramework: Convention = {
  name: 'agent-framework',
  detect: ({ span }) =>
    (span.scopeName === 'agent_framework' && span.name === 'workflow.run') ||
    (span.scopeName.startsWith('Experimental.Microsoft.') && span.name === 'orchestrate_tools'),
  read: ({ span }) =>
    span.name === 'workflow.run'
      ? { role: 'workflow', agent: span.attributes.get('workflow.name') }
      : { role: 'container' },
  signals: { keyPrefixes: ['agent_framework.'], scopePrefixes: ['agent_framework'] },
  switches: {
    emitter: 'Microsoft Agent Framework (Python)',
    scopes: ['agent_framework*'],
    setting: 'set ENABLE_SENSITIVE_DATA=true',
    source: 'recorded: agent-framework 1.23',
  },
};

const AGENTS_SCOPE = 'opentelemetry.instrumentation.openai_agents';
const HANDOFF = 'agent_handoff';

/** OpenTelemetry's OpenAI Agents: tasks, turns, transfers; the rest is `otel-genai`. OpenLLMetry has the same scope with keys of its own. */
export const openaiAgents: Convention = {
  name: 'openai-agents',
  detect: ({ span: { scopeName, attributes } }) =>
    scopeName === AGENTS_SCOPE &&
    ['unknown', HANDOFF].includes(attributes.get('gen_ai.operation.name') ?? ''),
  read: ({ span: { attributes } }) =>
    attributes.get('gen_ai.operation.name') === HANDOFF
      ? { role: 'tool', ...transferTool(readText(attributes, 'gen_ai.handoff.to_agent')) }
      : { role: 'container' },
  switches: {
    emitter: 'OpenAI Agents (OpenTelemetry)',
    scopes: [AGENTS_SCOPE],
    setting:
      'leave OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT and OTEL_INSTRUMENTATION_OPENAI_AGENTS_CAPTURE_CONTENT unset or set them to span_and_event (the first one wins)',
    sendsByDefault: true,
    source: 'source of opentelemetry-instrumentation-openai-agents-v2 0.1.0; recorded: the same',
  },
};

/** Names the tool that the SDK offers for a transfer to this agent. */
export function transferTool(target = 'agent'): Pick<SpanFacts, 'toolName'> {
  return { toolName: `transfer_to_${target}` };
}

const LATITUDE_KIND = 'latitude.span.kind';
const LATITUDE_ROLES = rolesOf({
  agent: 'agents.agent',
  tool: 'agents.function agents.handoff',
  workflow: 'agents.trace',
  container: 'agents.task agents.turn agents.guardrail agents.mcp_tools agents.custom agents.speech_group',
  other: 'agents.speech agents.transcription',
});

/** Latitude’s spans of the OpenAI Agents SDK. Its model calls are `otel-genai`. */
export const latitude: Convention = {
  name: 'latitude',
  detect: ({ span }) => span.attributes.has(LATITUDE_KIND),
  read: ({ span: { attributes } }) => {
    const kind = readText(attributes, LATITUDE_KIND) ?? '';
    const text = (key: string) => readText(attributes, `openai.agents.${key}`);
    const tool = ['name', 'input', 'output'].map((key) => text(`function.${key}`));
    const facts: SpanFacts =
      kind === 'agents.function'
        ? { toolName: tool[0], toolArgs: parseIfText(tool[1]), toolResult: parseIfText(tool[2]) }
        : kind === 'agents.handoff'
          ? transferTool(text('handoff.to'))
          : { agent: kind === 'agents.agent' ? text('name') : undefined };
    const session = readText(attributes, 'session.id') ?? text('group_id');
    return { role: LATITUDE_ROLES.get(kind), session, ...facts };
  },
  signals: { keyPrefixes: ['latitude.', 'openai.agents.'], scopePrefixes: ['so.latitude.'] },
  switches: {
    emitter: 'Latitude',
    scopes: ['so.latitude.*'],
    setting:
      'in Latitude name no attribute with content in redact of LatitudeSpanProcessor, and leave traceIncludeSensitiveData of the OpenAI Agents SDK at true',
    sendsByDefault: true,
    source: 'recorded: @latitude-data/telemetry 3.6.0',
  },
};

/** LiteLLM, whose calls are `otel-genai` (older: `traceloop-flattened`). The raw request repeats a call; the proxy's own work is no run. */
export const litellm: Convention = {
  name: 'litellm',
  detect: ({ span }) => span.scopeName === 'litellm',
  read: ({ span: { name, attributes } }) =>
    name === 'raw_gen_ai_request'
      ? { role: 'container' }
      : {
          session: readText(attributes, 'metadata.session_id', 'metadata.trace_session_id'),
          user: readText(attributes, 'llm.user', 'metadata.user_api_key_end_user_id'),
        },
  signals: { scopePrefixes: ['litellm'] },
  switches: {
    emitter: 'LiteLLM',
    scopes: ['litellm'],
    setting:
      'in LiteLLM leave turn_off_message_logging at false, and OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT unset or at SPAN_AND_EVENT',
    sendsByDefault: true,
    source: 'source of litellm 1.106.2, integrations/opentelemetry',
  },
};

/** OpenLIT, whose spans are `otel-genai` (older: `otel-genai-content`). A function that the application traces has no operation. */
export const openlit: Convention = {
  name: 'openlit',
  detect: ({ span }) =>
    span.resourceAttributes.get('telemetry.sdk.name') === 'openlit' || span.scopeName.startsWith('openlit'),
  read: ({ span: { attributes } }) => {
    const isCall = attributes.has('gen_ai.operation.name') || attributes.has('gen_ai.request.model');
    const role = !isCall && attributes.has('gen_ai.output.messages') ? 'container' : undefined;
    return { role, user: readText(attributes, 'gen_ai.request.user') };
  },
  switches: {
    emitter: 'OpenLIT',
    scopes: ['openlit*'],
    setting: 'leave capture_message_content of openlit.init out or set it to True',
    sendsByDefault: true,
    source: 'issue 1624 of openlit, version 1.45',
  },
};

const GENAI_SCOPE = 'opentelemetry.instrumentation.google_genai';
const PARAMETER = /^code\.function\.parameters\.(.+)\.value$/;

/** Tools of OpenTelemetry's instrumentation of Google's GenAI SDK before version 1, one attribute a parameter. The rest is `otel-genai`. */
export const googleGenai: Convention = {
  name: 'google-genai',
  detect: ({ span: { scopeName, attributes } }) =>
    scopeName === GENAI_SCOPE && attributes.get('gen_ai.operation.name') === 'execute_tool',
  read: ({ span: { attributes } }) => {
    const args = [...attributes.keys()].flatMap((key) => {
      const name = PARAMETER.exec(key)?.[1];
      const value = name === undefined ? undefined : readText(attributes, key);
      const isText = attributes.get(`code.function.parameters.${name}.type`) === 'str';
      return value === undefined ? [] : [[name, isText ? value : parseValue(value)] as const];
    });
    return {
      role: 'tool',
      toolArgs: args.length === 0 ? undefined : Object.fromEntries(args),
      toolResult: parseIfText(readText(attributes, 'code.function.return.value')),
    };
  },
  signals: { keyPrefixes: ['code.function.parameters.'], scopes: [GENAI_SCOPE] },
  switches: {
    emitter: 'Google GenAI (OpenTelemetry)',
    scopes: [GENAI_SCOPE],
    setting: OTEL_PYTHON_CAPTURE,
    source: 'README of opentelemetry-instrumentation-google-genai',
  },
};

/** CrewAI under OpenInference: the task is beside the values. An agent that gets delegated work has no span but the delegating tool's. */
export const crewai: Convention = {
  name: 'crewai',
  detect: ({ span }) => span.scopeName === 'openinference.instrumentation.crewai',
  read: ({ span: { attributes } }) => {
    const [given, got] = ['input.value', 'output.value'].map((key) => structureIn(attributes.get(key)));
    const text = (value: unknown, name: string) => textOrUndefined(field(value, name));
    if (attributes.get('openinference.span.kind') === 'TOOL') {
      return { agent: text(given, 'coworker') };
    }
    const task = text(given, 'description') ?? text(got, 'description');
    // A task with context is more than its description; then the model's prompt tells.
    return text(given, 'context') === undefined ? { input: readMessages(task, 'user') } : {};
  },
  signals: { keyPrefixes: ['crew_key'], scopePrefixes: ['crewai'] },
  switches: {
    emitter: 'CrewAI’s own telemetry',
    scopes: ['crewai.telemetry'],
    conventions: [],
    setting:
      'add the OpenInference instrumentations for CrewAI and its model client: its own spans leave content out unless the crew has share_crew=True',
    source: 'source of crewai 1.15.30, telemetry',
  },
};

const BEEAI_SCOPE = 'openinference.instrumentation.beeai';

/**
 * BeeAI's events. Older versions of OpenInference make each of them a span with a target. Several of these are states of one
 * tool call: the agent's updates with the name of a tool, in one iteration. Newer versions make spans of few events, which have
 * a path and the kind of the span above, but no class. All other events are steps. The run itself is `openinference`.
 */
export const beeai: Convention = {
  name: 'beeai',
  detect: ({ span: { scopeName, attributes } }) =>
    scopeName === BEEAI_SCOPE &&
    (attributes.has('target') || (attributes.has('metadata.path') && !attributes.has('metadata.class_name'))),
  read: ({ span: { attributes } }) => {
    const tool = readText(attributes, 'tool.name');
    const args = structureIn(attributes.get('tool.parameters'));
    const facts: SpanFacts = {
      toolName: tool,
      stateOf: tool,
      toolArgs: isRecord(args) ? args : undefined,
      toolResult: parseIfText(readText(attributes, 'output.value')),
    };
    const isState = attributes.get('target') === 'agent.react.update' && tool !== undefined;
    return {
      ...(isState ? { role: 'tool', ...facts } : { role: 'container' }),
      withheld: ['agent', 'input', 'output', 'toolName', 'toolArgs', 'toolResult'],
    };
  },
  switches: {
    emitter: 'BeeAI (OpenInference)',
    scopes: [BEEAI_SCOPE],
    setting: 'leave OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS unset or set them to false',
    sendsByDefault: true,
    source:
      'source of openinference-instrumentation-beeai 0.1.30, which takes TraceConfig of openinference-instrumentation',
  },
};
