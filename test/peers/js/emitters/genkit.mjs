import { openAICompatible } from '@genkit-ai/compat-oai';
import { genkit, z } from 'genkit';
import { disableGenkitOTelInitialization } from 'genkit/tracing';
import {
  API_KEY,
  getWeather,
  HISTORY,
  MODEL,
  MODEL_URL,
  QUESTION,
  SYSTEM,
  TOOL,
  TOOL_DESCRIPTION,
} from '../story.mjs';
import { startTelemetry } from '../telemetry.mjs';

// Genkit's own set-up takes exporters of an older OpenTelemetry only.
disableGenkitOTelInitialization();
const telemetry = startTelemetry();
const ai = genkit({
  plugins: [openAICompatible({ name: 'openai', baseURL: MODEL_URL, apiKey: API_KEY })],
});
const tool = ai.defineTool(
  { name: TOOL, description: TOOL_DESCRIPTION, inputSchema: z.object({ city: z.string() }) },
  async (args) => getWeather(args),
);
const flow = ai.defineFlow('weatherFlow', async (question) => {
  const { text } = await ai.generate({
    model: `openai/${MODEL}`,
    system: SYSTEM,
    messages: HISTORY.map(({ role, content }) => ({
      role: role === 'user' ? 'user' : 'model',
      content: [{ text: content }],
    })),
    prompt: question,
    tools: [tool],
  });
  return text;
});
await flow(QUESTION);
await telemetry.shutdown();
