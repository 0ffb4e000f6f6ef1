import { OpenAIAgentsInstrumentation } from '@arizeai/openinference-instrumentation-openai-agents';
import * as agents from '@openai/agents';
import { playWithOpenAiAgents } from '../openai-agents-agent.mjs';
import { startTelemetry } from '../telemetry.mjs';

const telemetry = startTelemetry();
new OpenAIAgentsInstrumentation({ tracerProvider: telemetry }).manuallyInstrument(agents);
await playWithOpenAiAgents();
await telemetry.shutdown();
