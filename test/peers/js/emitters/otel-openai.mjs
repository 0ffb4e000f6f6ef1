import { createRequire } from 'node:module';
import { OpenAIInstrumentation } from '@opentelemetry/instrumentation-openai';
import { playWithChatClient } from '../chat-loop.mjs';
import { API_KEY, MODEL_URL } from '../story.mjs';
import { startLogs, startTelemetry, withRequestSpan } from '../telemetry.mjs';

const telemetry = startTelemetry();
const logs = startLogs();
const instrumentation = new OpenAIInstrumentation({ captureMessageContent: true });
instrumentation.setTracerProvider(telemetry);
instrumentation.setLoggerProvider(logs);
instrumentation.enable();
// The instrumentation patches what is loaded by require, after it was enabled.
const { default: OpenAI } = createRequire(import.meta.url)('openai');
const client = new OpenAI({ baseURL: MODEL_URL, apiKey: API_KEY });
await withRequestSpan(() => playWithChatClient(client));
await telemetry.shutdown();
await logs.shutdown();
