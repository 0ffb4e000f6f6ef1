import { readText, rolesOf } from '../attributes.ts';
import { parseIfText } from '../json.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';
import { transferTool } from './openai-agents.ts';

/** Latitude’s spans of the OpenAI Agents SDK. Its model calls are `otel-genai`. */
export const latitude: Convention = {
  name: 'latitude',
  detect,
  read,
  signals: { keyPrefixes: ['latitude.', 'openai.agents.'], scopePrefixes: ['so.latitude.'] },
  switches: [
    {
      emitter: 'Latitude',
      scopes: ['so.latitude.*'],
      conventions: ['latitude'],
      setting:
        'in Latitude name no attribute with content in redact of LatitudeSpanProcessor, and leave traceIncludeSensitiveData of the OpenAI Agents SDK at true',
      sendsByDefault: true,
      source: 'recorded: @latitude-data/telemetry 3.6.0',
    },
  ],
};

const KIND = 'latitude.span.kind';

const KIND_ROLES = rolesOf({
  agent: 'agents.agent',
  tool: 'agents.function agents.handoff',
  workflow: 'agents.trace',
  container: 'agents.task agents.turn agents.guardrail agents.mcp_tools agents.custom agents.speech_group',
  other: 'agents.speech agents.transcription',
});

function detect({ span }: SpanView): boolean {
  return span.attributes.has(KIND);
}

function read({ span: { attributes } }: SpanView): SpanFacts {
  const kind = readText(attributes, KIND) ?? '';
  const shared: SpanFacts = {
    role: KIND_ROLES.get(kind),
    session: readText(attributes, 'session.id', 'openai.agents.group_id'),
  };
  if (kind === 'agents.agent') {
    return { ...shared, agent: readText(attributes, 'openai.agents.name') };
  }
  if (kind === 'agents.handoff') {
    return { ...shared, ...transferTool(readText(attributes, 'openai.agents.handoff.to')) };
  }
  const [toolArgs, toolResult] = ['input', 'output'].map((side) =>
    parseIfText(readText(attributes, `openai.agents.function.${side}`)),
  );
  return kind === 'agents.function'
    ? { ...shared, toolName: readText(attributes, 'openai.agents.function.name'), toolArgs, toolResult }
    : shared;
}
