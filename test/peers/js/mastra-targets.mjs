import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { MockMemory } from '@mastra/core/memory';
import { InMemoryStore } from '@mastra/core/storage';
import { createTool } from '@mastra/core/tools';
import { createStep, createWorkflow } from '@mastra/core/workflows';
import { z } from 'zod';

/** An agent of the published framework whose model is behind `baseURL`, with one tool and, where asked for, a memory. */
export function weatherAgent(baseURL, { remembers = false } = {}) {
  const provider = createOpenAICompatible({ name: 'openai', baseURL, apiKey: 'none' });
  return new Agent({
    id: 'weather-agent',
    name: 'weather-agent',
    instructions: 'You tell the weather.',
    model: provider('any-model'),
    ...(remembers ? { memory: new MockMemory() } : {}),
    tools: {
      get_weather: createTool({
        id: 'get_weather',
        description: 'Tells the weather of a city',
        inputSchema: z.object({ city: z.string() }),
        execute: async ({ city }) => ({ city, degrees: 18 }),
      }),
    },
  });
}

/** A workflow of the published framework: adds one, then doubles; fails at 13. */
export function countingWorkflow() {
  const value = z.object({ n: z.number() });
  const add = createStep({
    id: 'add',
    inputSchema: value,
    outputSchema: value,
    execute: async ({ inputData: { n } }) => {
      if (n === 13) {
        throw new Error('unlucky');
      }
      return { n: n + 1 };
    },
  });
  const double = createStep({
    id: 'double',
    inputSchema: value,
    outputSchema: value,
    execute: async ({ inputData: { n } }) => ({ n: n * 2 }),
  });
  return createWorkflow({ id: 'counting', inputSchema: value, outputSchema: value })
    .then(add)
    .then(double)
    .commit();
}

/** An empty dataset of the published framework, in memory. */
export async function emptyDataset() {
  const mastra = new Mastra({ logger: false, storage: new InMemoryStore() });
  return mastra.datasets.create({ name: 'cases' });
}
