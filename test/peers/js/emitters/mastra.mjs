import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { createTool } from '@mastra/core/tools';
import { Observability } from '@mastra/observability';
import { OtelExporter } from '@mastra/otel-exporter';
import { z } from 'zod';
import {
  API_KEY,
  getWeather,
  MODEL,
  MODEL_URL,
  SESSION,
  SYSTEM,
  TOOL,
  TOOL_DESCRIPTION,
  TURN,
  USER,
} from '../story.mjs';

const exporter = new OtelExporter({
  provider: {
    custom: { endpoint: `${process.env.OTEL_EXPORTER_OTLP_ENDPOINT}/v1/traces`, protocol: 'http/json' },
  },
});
const provider = createOpenAICompatible({ name: 'openai', baseURL: MODEL_URL, apiKey: API_KEY });
const mastra = new Mastra({
  logger: false,
  agents: {
    weather: new Agent({
      id: 'weather_agent',
      name: 'weather_agent',
      instructions: SYSTEM,
      model: provider(MODEL),
      tools: {
        [TOOL]: createTool({
          id: TOOL,
          description: TOOL_DESCRIPTION,
          inputSchema: z.object({ city: z.string() }),
          execute: async (args) => getWeather(args),
        }),
      },
    }),
  },
  observability: new Observability({
    configs: { otel: { serviceName: process.env.OTEL_SERVICE_NAME, exporters: [exporter] } },
  }),
});
await mastra.getAgent('weather').generate(TURN, {
  maxSteps: 3,
  tracingOptions: { metadata: { sessionId: SESSION, userId: USER } },
});
await exporter.shutdown();
