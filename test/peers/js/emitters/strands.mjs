import { Agent, tool } from '@strands-agents/sdk';
import { OpenAIModel } from '@strands-agents/sdk/models/openai';
import { z } from 'zod';
import {
  API_KEY,
  getWeather,
  HISTORY,
  MODEL,
  MODEL_URL,
  QUESTION,
  SESSION,
  SYSTEM,
  TOOL,
  TOOL_DESCRIPTION,
  USER,
} from '../story.mjs';
import { startTelemetry } from '../telemetry.mjs';

const telemetry = startTelemetry();
const agent = new Agent({
  name: 'weather_agent',
  model: new OpenAIModel({
    api: 'chat',
    modelId: MODEL,
    apiKey: API_KEY,
    clientConfig: { baseURL: MODEL_URL },
  }),
  systemPrompt: SYSTEM,
  messages: HISTORY.map(({ role, content }) => ({ role, content: [{ text: content }] })),
  tools: [
    tool({
      name: TOOL,
      description: TOOL_DESCRIPTION,
      inputSchema: z.object({ city: z.string() }),
      callback: getWeather,
    }),
  ],
  traceAttributes: { 'session.id': SESSION, 'user.id': USER },
  printer: false,
});
await agent.invoke(QUESTION);
await telemetry.shutdown();
