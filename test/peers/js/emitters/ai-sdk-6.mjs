import { createOpenAICompatible } from '@ai-sdk/openai-compatible-2';
import { generateText, stepCountIs, streamText, tool } from 'ai-6';
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
const provider = createOpenAICompatible({
  name: 'openai',
  baseURL: MODEL_URL,
  apiKey: API_KEY,
  includeUsage: true,
});
const call = {
  model: provider(MODEL),
  system: SYSTEM,
  messages: TURN,
  tools: {
    [TOOL]: tool({
      description: TOOL_DESCRIPTION,
      inputSchema: z.object({ city: z.string() }),
      execute: getWeather,
    }),
  },
  stopWhen: stepCountIs(3),
  experimental_telemetry: {
    isEnabled: true,
    functionId: 'weather_agent',
    metadata: { sessionId: SESSION, userId: USER },
  },
};
if (process.env.STREAM === undefined) {
  await generateText(call);
} else {
  await streamText(call).consumeStream();
}
await telemetry.shutdown();
