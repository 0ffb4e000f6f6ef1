import { CallbackHandler } from '@langfuse/langchain';
import { LangfuseSpanProcessor } from '@langfuse/otel';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { playWithLangChain } from '../langchain-agent.mjs';
import { SESSION, USER } from '../story.mjs';
import { startTelemetry } from '../telemetry.mjs';

const telemetry = startTelemetry([new LangfuseSpanProcessor({ exporter: new OTLPTraceExporter() })]);
const handler = new CallbackHandler({ sessionId: SESSION, userId: USER });
await playWithLangChain({ callbacks: [handler] });
await telemetry.shutdown();
