import { OpenTelemetry } from '@ai-sdk/otel';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  TracerProvider,
  type Span,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace';
import { generateText, isStepCount, jsonSchema, tool, type LanguageModel } from 'ai';
import { AppError, readErrorMessage } from '../../domain/errors.ts';
import { SCENARIOS, type Scenario } from './scripted-agent.ts';

export { DEMO_JUDGE_MODEL, startScriptedModel, type ScriptedModel } from './scripted-agent.ts';

const DEMO_AGENT_MODEL = 'weather-model';
export interface AgentScenarioTarget {
  /** Base address of an OTLP/HTTP receiver; `/v1/traces` is appended. */
  readonly otlpUrl: string;
  /** Base address of an OpenAI-compatible API. */
  readonly modelUrl: string;
}

export interface AgentScenarioRun {
  readonly scenario: Scenario['name'];
  readonly question: string;
  readonly answer: string;
  readonly traceId: string;
}

/**
 * Runs a small agent of the AI SDK through all scenarios, one trace each. Returns when the receiver has confirmed the
 * spans. Throws `delivery_failed` when it has not.
 */
export async function runAgentScenarios(target: AgentScenarioTarget): Promise<AgentScenarioRun[]> {
  const telemetry = startTelemetry(`${target.otlpUrl.replace(/\/+$/, '')}/v1/traces`);
  const model = createOpenAICompatible({ name: 'demo', baseURL: target.modelUrl }).chatModel(
    DEMO_AGENT_MODEL,
  );
  const runs: AgentScenarioRun[] = [];
  try {
    for (const scenario of SCENARIOS) {
      const answer = await ask(scenario, model, telemetry.integration);
      runs.push({
        scenario: scenario.name,
        question: scenario.question,
        answer,
        traceId: telemetry.takeTraceId(),
      });
    }
    await telemetry.flush();
    return runs;
  } finally {
    await telemetry.stop();
  }
}

/** Runs the agent: a model, one tool, at most three steps. */
async function ask(scenario: Scenario, model: LanguageModel, integration: OpenTelemetry): Promise<string> {
  const { text } = await generateText({
    model,
    instructions: 'You are a weather assistant. Use get_weather for anything about the weather.',
    prompt: scenario.question,
    tools: {
      get_weather: tool({
        description: 'Current weather of a city',
        inputSchema: jsonSchema<{ city: string }>({
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
          additionalProperties: false,
        }),
        execute: () => callWeatherService(scenario),
      }),
    },
    stopWhen: isStepCount(3),
    maxRetries: 0,
    telemetry: { functionId: 'weather-agent', integrations: [integration] },
  });
  return text;
}

function callWeatherService({ name, tool: service }: Scenario): Promise<Readonly<Record<string, unknown>>> {
  if (service === undefined) {
    return Promise.reject(new TypeError(`scenario ${name} has no tool`));
  }
  // The call fails as the HTTP client of a real service would fail.
  return 'failure' in service
    ? Promise.reject(new TypeError(service.failure))
    : Promise.resolve(service.result);
}

/** Sets telemetry up as a user would, but not globally, because the demonstration runs inside another program. */
function startTelemetry(url: string) {
  let lastTraceId = '';
  const noteRoots: SpanProcessor = {
    onStart(span: Span) {
      if (span.parentSpanContext === undefined || !trace.isSpanContextValid(span.parentSpanContext)) {
        lastTraceId = span.spanContext().traceId;
      }
    },
    onEnd: () => undefined,
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'weather-demo',
      'deployment.environment.name': 'demo',
    }),
    sampler: new AlwaysOnSampler(),
    spanProcessors: [noteRoots, new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url }) })],
  });
  return {
    integration: new OpenTelemetry({
      tracer: provider.getTracer('gen_ai'),
      agentSpanName: 'functionId',
    }),
    /** Returns the trace id of the last run. */
    takeTraceId: () => lastTraceId,
    async flush() {
      try {
        await provider.forceFlush();
      } catch (cause) {
        throw new AppError(
          `${url} did not accept the spans of the demonstration: ${readErrorMessage(cause)}`,
          {
            code: 'delivery_failed',
            stage: 'export',
            retryable: true,
            cause,
          },
        );
      }
    },
    stop: () => provider.shutdown(),
  };
}
