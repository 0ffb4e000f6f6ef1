import { observeOpenAI } from '@langfuse/openai';
import { LangfuseSpanProcessor } from '@langfuse/otel';
import { propagateAttributes, startActiveObservation } from '@langfuse/tracing';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import OpenAI from 'openai';
import { playWithChatClient } from '../chat-loop.mjs';
import { API_KEY, getWeather, MODEL_URL, QUESTION, SESSION, TOOL, USER } from '../story.mjs';
import { startTelemetry } from '../telemetry.mjs';

const telemetry = startTelemetry([new LangfuseSpanProcessor({ exporter: new OTLPTraceExporter() })]);
const client = observeOpenAI(new OpenAI({ baseURL: MODEL_URL, apiKey: API_KEY }));

function callTool(args) {
  return startActiveObservation(
    TOOL,
    (tool) => {
      const result = getWeather(args);
      tool.update({ input: args, output: result });
      return result;
    },
    { asType: 'tool' },
  );
}

await propagateAttributes({ sessionId: SESSION, userId: USER, traceName: 'weather' }, () =>
  startActiveObservation(
    'weather_agent',
    async (agent) => {
      agent.update({ input: QUESTION, output: await playWithChatClient(client, { callTool }) });
    },
    { asType: 'agent' },
  ),
);
await telemetry.shutdown();
