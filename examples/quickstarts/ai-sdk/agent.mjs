import { openai } from '@ai-sdk/openai';
import { OpenTelemetry } from '@ai-sdk/otel';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { generateText, isStepCount, registerTelemetry, tool } from 'ai';
import { z } from 'zod';

// Sends spans to OTEL_EXPORTER_OTLP_ENDPOINT. OTEL_SERVICE_NAME names the service.
const telemetry = new NodeSDK();
telemetry.start();
// Without `runtimeContext: true`, the session and the user are not sent.
registerTelemetry(new OpenTelemetry({ runtimeContext: true }));

const { text } = await generateText({
  model: openai('gpt-4o-mini'),
  instructions: 'You are a weather assistant.',
  prompt: 'What is the weather in Paris?',
  tools: {
    get_weather: tool({
      description: 'Get weather for a city',
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }) => ({ city, tempC: 18, sky: 'rain' }),
    }),
  },
  stopWhen: isStepCount(5),
  runtimeContext: { sessionId: 'session-1', userId: 'user-9' },
  telemetry: {
    functionId: 'weather_agent', // the name of the agent
    includeRuntimeContext: { sessionId: true, userId: true },
  },
});
console.log(text);

// Sends the last spans before the process ends.
await telemetry.shutdown();
