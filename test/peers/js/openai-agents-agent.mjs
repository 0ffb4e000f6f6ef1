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
} from './story.mjs';

/** The story as an agent of the OpenAI Agents SDK, whose model speaks Responses. */
export async function playWithOpenAiAgents() {
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
}
