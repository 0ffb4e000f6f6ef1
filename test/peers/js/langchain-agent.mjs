import { ChatOpenAI } from '@langchain/openai';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';
import { API_KEY, getWeather, MODEL, MODEL_URL, SYSTEM, TOOL, TOOL_DESCRIPTION, TURN } from './story.mjs';

/** The story as an agent of LangChain 1. */
export async function playWithLangChain(config) {
  const agent = createAgent({
    name: 'weather_agent',
    model: new ChatOpenAI({ model: MODEL, apiKey: API_KEY, configuration: { baseURL: MODEL_URL } }),
    tools: [
      tool((args) => JSON.stringify(getWeather(args)), {
        name: TOOL,
        description: TOOL_DESCRIPTION,
        schema: z.object({ city: z.string() }),
      }),
    ],
    systemPrompt: SYSTEM,
  });
  await agent.invoke({ messages: TURN }, config);
}
