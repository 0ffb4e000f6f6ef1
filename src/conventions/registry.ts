import {
  agentFramework,
  beeai,
  crewai,
  googleGenai,
  latitude,
  litellm,
  openaiAgents,
  openlit,
} from './formats/additions.ts';
import { aiSdk } from './formats/ai-sdk.ts';
import { claudeCode } from './formats/claude-code.ts';
import { geminiCli, genkit, googleAdk } from './formats/google.ts';
import { haystack } from './formats/haystack.ts';
import { koog, springAi } from './formats/jvm.ts';
import { langfuse } from './formats/langfuse.ts';
import { livekit } from './formats/livekit.ts';
import { logfire, logfireAgents, pydanticAi } from './formats/logfire.ts';
import { openinference } from './formats/openinference.ts';
import { otelGenaiEvents } from './formats/otel-genai-events.ts';
import { otelGenai } from './formats/otel-genai.ts';
import { braintrust, laminar, langsmith, mlflow, trulens } from './formats/platforms.ts';
import { agentops, anyAgent, monocle } from './formats/tabled.ts';
import { otelGenaiContent, traceloop, traceloopFlattened } from './formats/traceloop.ts';
import { flue, mastra, sentry, voltagent } from './formats/typescript.ts';
import type { Convention } from './normalised-span.ts';

/**
 * Every convention, most specific first: those of one platform or framework before shared ones, native content before the
 * processors that add to it. A span is read by all conventions that recognise it; when two give the same fact, the earlier one
 * is used, field by field. What the span is comes first from those that read content of it. OpenLLMetry's own keys come before
 * OpenTelemetry's, because its instrumentations for JavaScript fill those with texts that only its convention can parse.
 */
export const CONVENTIONS: readonly Convention[] = [
  langfuse,
  claudeCode,
  mastra,
  pydanticAi,
  googleAdk,
  genkit,
  livekit,
  langsmith,
  mlflow,
  aiSdk,
  monocle,
  anyAgent,
  agentops,
  agentFramework,
  crewai,
  haystack,
  springAi,
  koog,
  laminar,
  litellm,
  logfireAgents,
  logfire,
  openlit,
  flue,
  voltagent,
  braintrust,
  trulens,
  beeai,
  geminiCli,
  latitude,
  googleGenai,
  traceloop,
  openaiAgents,
  sentry,
  otelGenai,
  otelGenaiEvents,
  openinference,
  traceloopFlattened,
  otelGenaiContent,
];
