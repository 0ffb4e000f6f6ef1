import { capture, LatitudeSpanProcessor, registerLatitudeInstrumentations } from '@latitude-data/telemetry';
import * as agents from '@openai/agents';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import OpenAI from 'openai';
import { playWithChatClient } from '../chat-loop.mjs';
import { playWithOpenAiAgents } from '../openai-agents-agent.mjs';
import { API_KEY, MODEL_URL, SESSION, USER } from '../story.mjs';
import { startTelemetry } from '../telemetry.mjs';

const isAgent = process.env.CLIENT === 'openai-agents';
const telemetry = startTelemetry([
  new LatitudeSpanProcessor(API_KEY, 'weather', { exporter: new OTLPTraceExporter() }),
]);
await registerLatitudeInstrumentations({
  instrumentations: isAgent ? { 'openai-agents': agents } : { openai: OpenAI },
  tracerProvider: telemetry,
});

function play() {
  return isAgent
    ? playWithOpenAiAgents()
    : playWithChatClient(new OpenAI({ baseURL: MODEL_URL, apiKey: API_KEY }));
}

await capture('weather_agent', play, { sessionId: SESSION, userId: USER });
await telemetry.shutdown();
