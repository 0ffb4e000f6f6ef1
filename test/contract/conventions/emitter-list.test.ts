import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readTraces } from '../../../src/conventions/index.ts';
import type { TraceReading } from '../../../src/domain/trace/agent-run.ts';
import { recordedSpans } from '../../support/recordings/recorded-spans.ts';

/** Reads a recording, or a described case, by its name. */
function listReadings(name: string): TraceReading[] {
  const described = new URL(`../../fixtures/spans-spec/${name}.traces.jsonl`, import.meta.url);
  const folder = existsSync(new URL(`../../fixtures/spans/${name}.traces.jsonl`, import.meta.url))
    ? 'spans'
    : 'spans-multi';
  return readTraces(existsSync(described) ? readFileSync(described, 'utf8') : recordedSpans(folder, name));
}

const nativeMastra = (): TraceReading[] =>
  readTraces(
    readFileSync(new URL('../../fixtures/mastra-records/agent-trace.json', import.meta.url), 'utf8'),
  );

/** Every emitter that is promised to be understood: where its spans are at hand, and the convention that reads them. */
const EMITTERS: readonly (readonly [
  emitter: string,
  readings: string | (() => TraceReading[]),
  convention: string,
])[] = [
  [
    'OpenTelemetry GenAI, content on events of the oldest generation',
    'openlit-old-events',
    'otel-genai-content',
  ],
  ['OpenTelemetry GenAI, one record a message', 'otel-contrib-openai-chat', 'otel-genai-events'],
  ['OpenTelemetry GenAI, span events', 'strands-ts', 'otel-genai-events'],
  ['OpenTelemetry GenAI, attributes', 'otel-genai-openai-py-span-only', 'otel-genai'],
  ['OpenTelemetry GenAI, details as a span event', 'otel-genai-details-event', 'otel-genai'],
  ['OpenTelemetry GenAI, details as a record', 'otel-openai-v2-py-latest-event-only', 'otel-genai'],
  ['OpenInference', 'openinference-openai-chat', 'openinference'],
  ['OpenLLMetry, flattened', 'traceloop-old-openai-chat', 'traceloop-flattened'],
  ['OpenLLMetry, new', 'traceloop-py-openai', 'traceloop'],
  ['AI SDK, legacy', 'ai-sdk-v6-gen', 'ai-sdk'],
  ['AI SDK 7', 'ai-sdk-v7-new', 'ai-sdk'],
  ['Mastra, exporter', 'mastra-otel-exporter', 'mastra'],
  ['Mastra, native records', nativeMastra, 'mastra'],
  ['Pydantic AI', 'pydantic-ai-py-v5', 'pydantic-ai'],
  ['Logfire, OpenAI', 'logfire-openai', 'logfire'],
  ['Logfire, OpenAI Agents', 'openai-agents-py-s1-logfire', 'logfire-agents'],
  ['Langfuse', 'langfuse-sdk-v5', 'langfuse'],
  ['LangSmith', 'langsmith-otel-openai', 'langsmith'],
  ['MLflow', 'mlflow-py-openai', 'mlflow'],
  ['Google ADK 1', 'google-adk-1.20-py-agent', 'google-adk'],
  ['Google ADK 2', 'google-adk-py-latest', 'google-adk'],
  ['Google ADK for Java', 'adk-java-agent', 'google-adk'],
  ['Strands (Python)', 'strands-py-agent', 'otel-genai-events'],
  ['Strands, newest', 'strands-py-latest', 'otel-genai'],
  ['Microsoft Agent Framework', 'agent-framework-py-agent', 'otel-genai'],
  ['Microsoft Agent Framework, workflows', 'agent-framework-py-sw', 'agent-framework'],
  ['Semantic Kernel', 'semantic-kernel-py-agent', 'otel-genai-events'],
  ['OpenAI Agents, OpenInference', 'openinference-openai-agents-py-agent', 'openinference'],
  ['OpenAI Agents, OpenTelemetry', 'otel-openai-agents-live', 'otel-genai'],
  ['Claude Code', 'claude-code', 'claude-code'],
  ['Claude Agent SDK, OpenInference', 'claude-agent-sdk-openinference', 'openinference'],
  ['Claude Agent SDK, LangSmith', 'claude-agent-langsmith-2025-12', 'langsmith'],
  ['LangChain and LangGraph, OpenInference', 'openinference-langchain-py-agent', 'openinference'],
  ['LangChain, OpenLLMetry', 'traceloop-py-langchain', 'traceloop'],
  ['LangChain, LangSmith', 'langsmith-langchain', 'langsmith'],
  ['CrewAI', 'openinference-crewai-py-agent', 'crewai'],
  ['LlamaIndex', 'openinference-llamaindex-py-agent', 'openinference'],
  ['smolagents', 'openinference-smolagents-py-tool', 'openinference'],
  ['AutoGen', 'autogen-py-oi', 'openinference'],
  ['DSPy', 'openinference-dspy-py-react', 'openinference'],
  ['Agno', 'agno-2025-06', 'openinference'],
  ['LiveKit, old keys', 'livekit', 'livekit'],
  ['LiveKit, new keys', 'livekit-pii', 'livekit'],
  ['Genkit (JavaScript)', 'genkit', 'genkit'],
  ['Genkit (Go)', 'genkit-go-agent', 'genkit'],
  ['LiteLLM', 'litellm-otel-py-chat', 'litellm'],
  ['OpenLIT', 'openlit', 'openlit'],
  ['Spring AI 1', 'spring-ai-1.1-agent', 'spring-ai'],
  ['Spring AI 2', 'spring-ai-2-agent', 'spring-ai'],
  ['openai-java', 'otel-openai-java-chat', 'otel-genai-events'],
  ['LangChain4j', 'langchain4j-javaagent-agent', 'otel-genai-events'],
  ['Haystack', 'haystack-2-py-agent', 'haystack'],
  ['Koog', 'koog-agent', 'koog'],
  ['Koog before 1.0', 'koog-2025-08', 'traceloop-flattened'],
  ['Laminar', 'laminar', 'laminar'],
];

it.each(EMITTERS)('%s is read by its convention, with nothing left over', (_emitter, source, convention) => {
  const readings = typeof source === 'string' ? listReadings(source) : source();
  const runs = readings.flatMap((reading) => reading.runs);
  const conventions = runs.flatMap((run) => [
    ...run.conventions,
    ...run.subRuns.flatMap((sub) => sub.conventions),
  ]);
  expect(conventions).toContain(convention);
  expect(runs.some((run) => run.scorable)).toBe(true);
  expect(readings.flatMap(({ notUnderstood }) => notUnderstood.map(({ name }) => name))).toEqual([]);
});
