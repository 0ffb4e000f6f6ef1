import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { createTool } from '@mastra/core/tools';
import { Observability } from '@mastra/observability';
import { OtelExporter } from '@mastra/otel-exporter';
import { z } from 'zod';

const getWeather = createTool({
  id: 'get_weather',
  description: 'Get weather for a city',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, tempC: 18, sky: 'rain' }),
});

const weatherAgent = new Agent({
  id: 'weather_agent',
  name: 'weather_agent',
  instructions: 'You are a weather assistant.',
  model: 'openai/gpt-4o-mini',
  tools: { get_weather: getWeather },
});

// This exporter takes its address from the code, not from OTEL_EXPORTER_OTLP_ENDPOINT.
const endpoint = process.env.OTEL_EXPORTER_OTLP_ENDPOINT ?? 'http://127.0.0.1:4318';
const exporter = new OtelExporter({
  provider: { custom: { endpoint: `${endpoint}/v1/traces`, protocol: 'http/json' } },
});

const mastra = new Mastra({
  logger: false,
  agents: { weatherAgent },
  observability: new Observability({
    configs: { otel: { serviceName: 'weather', exporters: [exporter] } },
  }),
});

const { text } = await mastra.getAgent('weatherAgent').generate('What is the weather in Paris?', {
  maxSteps: 5,
  tracingOptions: { metadata: { sessionId: 'session-1', userId: 'user-9' } },
});
console.log(text);

// Sends the last spans before the process ends.
await mastra.shutdown();
