import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { OpenTelemetry } from '@ai-sdk/otel';
import { generateText, isStepCount, registerTelemetry, streamText, tool } from 'ai';
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
import { startTelemetry } from '../telemetry.mjs';

const telemetry = startTelemetry();
registerTelemetry(new OpenTelemetry({ runtimeContext: true }));
const provider = createOpenAICompatible({
  name: 'openai',
  baseURL: MODEL_URL,
  apiKey: API_KEY,
  includeUsage: true,
});
const call = {
  model: provider(MODEL),
  instructions: SYSTEM,
  messages: TURN,
  tools: {
    [TOOL]: tool({
      description: TOOL_DESCRIPTION,
      inputSchema: z.object({ city: z.string() }),
      execute: getWeather,
    }),
  },
  stopWhen: isStepCount(3),
  runtimeContext: { sessionId: SESSION, userId: USER },
  telemetry: { functionId: 'weather_agent', includeRuntimeContext: { sessionId: true, userId: true } },
};
if (process.env.STREAM === undefined) {
  await generateText(call);
} else {
  await streamText(call).consumeStream();
}
await telemetry.shutdown();
