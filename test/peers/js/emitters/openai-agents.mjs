import { OpenAIAgentsInstrumentation } from '@arizeai/openinference-instrumentation-openai-agents';
import * as agents from '@openai/agents';
import OpenAI from 'openai';
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
} from '../story.mjs';
import { startTelemetry } from '../telemetry.mjs';

const telemetry = startTelemetry();
new OpenAIAgentsInstrumentation({ tracerProvider: telemetry }).manuallyInstrument(agents);
agents.setDefaultOpenAIClient(new OpenAI({ baseURL: MODEL_URL, apiKey: API_KEY }));
agents.setOpenAIAPI('responses');
const agent = new agents.Agent({
  name: 'weather_agent',
  instructions: SYSTEM,
  model: MODEL,
  tools: [
    agents.tool({
      name: TOOL,
      description: TOOL_DESCRIPTION,
      parameters: z.object({ city: z.string() }),
      execute: getWeather,
    }),
  ],
});
const items = TURN.map(({ role, content }) =>
  role === 'assistant'
    ? { role, status: 'completed', content: [{ type: 'output_text', text: content }] }
    : { role, content },
);
await agents.withTrace('weather', () => agents.run(agent, items), { groupId: SESSION });
await agents.getGlobalTraceProvider().forceFlush();
await telemetry.shutdown();
