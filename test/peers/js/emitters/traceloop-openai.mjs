import { OpenAIInstrumentation } from '@traceloop/instrumentation-openai';
import OpenAI from 'openai';
import { playWithChatClient } from '../chat-loop.mjs';
import { API_KEY, MODEL_URL } from '../story.mjs';
import { startTelemetry, withRequestSpan } from '../telemetry.mjs';

const telemetry = startTelemetry();
const instrumentation = new OpenAIInstrumentation();
instrumentation.setTracerProvider(telemetry);
instrumentation.manuallyInstrument(OpenAI);
const client = new OpenAI({ baseURL: MODEL_URL, apiKey: API_KEY });
await withRequestSpan(() => playWithChatClient(client));
await telemetry.shutdown();
