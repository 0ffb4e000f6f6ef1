import { OpenAIInstrumentation } from '@arizeai/openinference-instrumentation-openai';
import { setSession, setUser } from '@arizeai/openinference-core';
import { context } from '@opentelemetry/api';
import OpenAI from 'openai';
import { playWithChatClient } from '../chat-loop.mjs';
import { API_KEY, MODEL_URL, SESSION, USER } from '../story.mjs';
import { startTelemetry, withRequestSpan } from '../telemetry.mjs';

const telemetry = startTelemetry();
new OpenAIInstrumentation({ tracerProvider: telemetry }).manuallyInstrument(OpenAI);
const client = new OpenAI({ baseURL: MODEL_URL, apiKey: API_KEY });
const who = setUser(setSession(context.active(), { sessionId: SESSION }), { userId: USER });
await context.with(who, () => withRequestSpan(() => playWithChatClient(client)));
await telemetry.shutdown();
