/** How to make one emitter send what was said. */
export interface ContentSwitch {
  readonly emitter: string;
  /** Names of its scopes, or how they begin when they end with a star. */
  readonly scopes: readonly string[];
  /** For emitters whose scope is the application's own: the conventions that only they speak. */
  readonly conventions?: readonly string[];
  /** What to set, or why there is nothing to set. */
  readonly setting: string;
  /** Content is sent unless something takes it out: no content means that something did. */
  readonly sendsByDefault: boolean;
  /** Where the setting's name was read or seen at work. */
  readonly source: string;
}

const OTEL_PYTHON =
  'set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT';

/** The first that fits counts: particular scopes before the families that they belong to. */
export const CONTENT_SWITCHES: readonly ContentSwitch[] = [
  {
    emitter: 'Vercel AI SDK 3 to 6, and 7 with its legacy spans',
    scopes: ['ai'],
    conventions: ['ai-sdk'],
    setting:
      'in the AI SDK set recordInputs and recordOutputs of experimental_telemetry (version 7: of telemetry) to true, or leave them out',
    sendsByDefault: true,
    source: 'recorded: ai 4 to 7',
  },
  {
    emitter: 'Vercel AI SDK 7',
    scopes: ['gen_ai'],
    setting:
      'in the AI SDK set recordInputs and recordOutputs of the telemetry option to true, or leave them out',
    sendsByDefault: true,
    source: 'recorded: ai 7',
  },
  {
    emitter: 'OpenTelemetry (Python)',
    scopes: [
      'opentelemetry.instrumentation.openai_v2',
      'opentelemetry.instrumentation.genai*',
      'opentelemetry.util.genai*',
    ],
    setting: OTEL_PYTHON,
    sendsByDefault: false,
    source: 'recorded: opentelemetry-util-genai 0.4b0 to 1.3b0',
  },
  {
    // OpenLLMetry's instrumentation and OpenTelemetry's own have the same scope.
    emitter: 'OpenAI Agents (OpenLLMetry, OpenTelemetry)',
    scopes: ['opentelemetry.instrumentation.openai_agents'],
    setting:
      'with OpenLLMetry leave TRACELOOP_TRACE_CONTENT unset or set it to true; with OpenTelemetry’s own instrumentation set OTEL_INSTRUMENTATION_OPENAI_AGENTS_CAPTURE_CONTENT=true',
    sendsByDefault: false,
    source: 'README of opentelemetry-instrumentation-openai-agents',
  },
  {
    emitter: 'OpenLLMetry (Python)',
    scopes: ['opentelemetry.instrumentation.*', 'traceloop*'],
    conventions: ['traceloop'],
    setting: 'in OpenLLMetry leave TRACELOOP_TRACE_CONTENT unset or set it to true',
    sendsByDefault: true,
    source: 'README of the opentelemetry-instrumentation-* packages of OpenLLMetry',
  },
  {
    emitter: 'OpenTelemetry',
    scopes: ['opentelemetry.*'],
    setting: OTEL_PYTHON,
    sendsByDefault: false,
    source: 'recorded: opentelemetry-util-genai 0.4b0 to 1.3b0',
  },
  {
    emitter: 'OpenTelemetry (JavaScript)',
    scopes: ['@opentelemetry/*'],
    setting: 'set captureMessageContent: true in the instrumentation’s options',
    sendsByDefault: false,
    source: 'live test: @opentelemetry/instrumentation-openai 0.22',
  },
  {
    emitter: 'OpenTelemetry (Java): openai-java, LangChain4j',
    scopes: ['io.opentelemetry.*'],
    setting:
      'set otel.instrumentation.genai.capture-message-content=true (of the library: setCaptureMessageContent(true)) and export logs',
    sendsByDefault: false,
    source: 'recorded: opentelemetry-javaagent 2.33.1, opentelemetry-openai-java 2.31.1',
  },
  {
    emitter: 'Pydantic AI',
    scopes: ['pydantic-ai'],
    conventions: ['pydantic-ai'],
    setting: 'use InstrumentationSettings(include_content=True)',
    sendsByDefault: true,
    source: 'live test: pydantic-ai 2.68',
  },
  {
    emitter: 'Google ADK',
    scopes: ['gcp.vertex.agent'],
    conventions: ['google-adk'],
    setting: `in ADK 2 ${OTEL_PYTHON}; in ADK 1 and ADK for Java leave ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS unset or set it to true`,
    sendsByDefault: false,
    source: 'live test: google-adk 2.13; recorded: google-adk 1.20, adk for Java 1.8',
  },
  {
    emitter: 'Microsoft Agent Framework (Python)',
    scopes: ['agent_framework*'],
    conventions: ['agent-framework'],
    setting: 'set ENABLE_SENSITIVE_DATA=true',
    sendsByDefault: false,
    source: 'recorded: agent-framework 1.23',
  },
  {
    emitter: 'Semantic Kernel',
    scopes: ['semantic_kernel*', 'Microsoft.SemanticKernel*'],
    setting: 'set SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true',
    sendsByDefault: false,
    source: 'reference of semantic_kernel.utils.telemetry.model_diagnostics',
  },
  {
    emitter: 'Microsoft.Extensions.AI and Agent Framework (.NET)',
    scopes: ['Experimental.Microsoft.Extensions.AI*', 'Experimental.Microsoft.Agents.AI*'],
    setting: 'set EnableSensitiveData = true on UseOpenTelemetry',
    sendsByDefault: false,
    source: 'reference of Microsoft.Extensions.AI.OpenTelemetryChatClient',
  },
  {
    emitter: 'Azure AI (agents, projects, inference)',
    scopes: ['azure.ai.*', 'Azure.AI.*'],
    setting:
      'set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true (older versions: AZURE_TRACING_GEN_AI_CONTENT_RECORDING_ENABLED=true)',
    sendsByDefault: false,
    source: 'reference of azure.ai.projects.telemetry and of GenAITracingOptions',
  },
  {
    emitter: 'Spring AI',
    scopes: ['org.springframework*'],
    conventions: ['spring-ai'],
    setting:
      'set spring.ai.chat.observations.log-prompt, spring.ai.chat.observations.log-completion and spring.ai.tools.observations.include-content to true, and export logs (the OpenTelemetry appender of Logback)',
    sendsByDefault: false,
    source: 'recorded: spring-ai 2.0.1 and 1.1.6',
  },
  {
    emitter: 'Koog',
    scopes: ['ai.koog'],
    conventions: ['koog'],
    setting: 'call setVerbose(true) on Koog’s OpenTelemetry feature',
    sendsByDefault: false,
    source: 'recorded: koog-agents 1.1.1',
  },
  {
    emitter: 'Haystack 2',
    scopes: ['haystack'],
    conventions: ['haystack'],
    setting: 'set HAYSTACK_CONTENT_TRACING_ENABLED=true',
    sendsByDefault: false,
    source: 'recorded: haystack-ai 2.31',
  },
  {
    emitter: 'Claude Code',
    scopes: ['com.anthropic.claude_code*'],
    conventions: ['claude-code'],
    setting:
      'set OTEL_LOG_USER_PROMPTS=1, OTEL_LOG_TOOL_DETAILS=1 and OTEL_LOG_TOOL_CONTENT=1 (spans need CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1)',
    sendsByDefault: false,
    source: 'monitoring page of Claude Code’s documentation, and Braintrust’s guide to its traces',
  },
  {
    emitter: 'AutoGen',
    scopes: ['autogen*'],
    setting: 'add the OpenInference instrumentation for AutoGen: its own spans never carry content',
    sendsByDefault: false,
    source: 'recorded: autogen-agentchat, with and without it',
  },
  {
    emitter: 'CrewAI’s own telemetry',
    scopes: ['crewai.telemetry'],
    setting:
      'add the OpenInference instrumentations for CrewAI and its model client: its own spans leave content out unless the crew has share_crew=True',
    sendsByDefault: false,
    source: 'source of crewai 1.15.30, telemetry',
  },
  {
    emitter: 'Langfuse',
    scopes: ['langfuse-sdk'],
    conventions: ['langfuse'],
    setting:
      'in Langfuse leave capture_input and capture_output of observe (JavaScript: captureInput, captureOutput) out or set them to true, LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED likewise, and check the mask function',
    sendsByDefault: true,
    source: 'reference of langfuse’s observe; recorded: langfuse 5',
  },
  {
    emitter: 'LangSmith',
    scopes: ['langsmith'],
    conventions: ['langsmith'],
    setting:
      'leave LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS (in code: hide_inputs and hide_outputs of the client) unset or set them to false',
    sendsByDefault: true,
    source: 'LangSmith’s page on masking inputs and outputs; source of langsmith 0.15, client',
  },
  {
    emitter: 'LiteLLM',
    scopes: ['litellm'],
    conventions: ['litellm'],
    setting:
      'in LiteLLM leave turn_off_message_logging at false, and OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT unset or at SPAN_AND_EVENT',
    sendsByDefault: true,
    source: 'source of litellm 1.106.2, integrations/opentelemetry',
  },
  {
    emitter: 'Laminar',
    scopes: ['lmnr*', '@lmnr-ai/*'],
    conventions: ['laminar'],
    setting:
      'in Laminar leave ignore_input and ignore_output of observe (JavaScript: ignoreInput, ignoreOutput) out or set them to false',
    sendsByDefault: true,
    source: 'users of lmnr’s observe (browser-use)',
  },
  {
    emitter: 'OpenLIT',
    scopes: ['openlit*'],
    conventions: ['openlit'],
    setting: 'leave capture_message_content of openlit.init out or set it to True',
    sendsByDefault: true,
    source: 'issue 1624 of openlit, version 1.45',
  },
  {
    emitter: 'LiveKit Agents',
    scopes: ['livekit-agents', '@livekit/agents*'],
    conventions: ['livekit'],
    setting:
      'in newer versions of LiveKit Agents pass allow_pii=True to set_tracer_provider (JavaScript: setTracerProvider(provider, { allowPii: true })), and leave redaction off for the session',
    sendsByDefault: false,
    source: 'reference of LiveKit’s agents-js telemetry; pull request 7104 of livekit/agents',
  },
  {
    emitter: 'Mastra',
    scopes: ['@mastra/*'],
    conventions: ['mastra'],
    setting: 'in Mastra leave hideInput and hideOutput of tracingOptions out or set them to false',
    sendsByDefault: true,
    source: 'types of @mastra/core 1.71, observability',
  },
  {
    emitter: 'OpenAI Agents (Logfire)',
    scopes: ['logfire.openai_agents'],
    conventions: ['logfire-agents'],
    setting:
      'leave OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA (in code: trace_include_sensitive_data of RunConfig) unset or set it to true',
    sendsByDefault: true,
    source: 'configuration page of openai-agents',
  },
  {
    emitter: 'Logfire (OpenAI, Anthropic)',
    scopes: ['logfire*'],
    conventions: ['logfire'],
    setting:
      'Logfire’s instrumentations of model clients always send requests and responses; what its scrubbing replaced needs logfire.configure(scrubbing=…)',
    sendsByDefault: true,
    source: 'Logfire’s page on scrubbing sensitive data',
  },
  {
    emitter: 'Flue',
    scopes: ['@flue/*'],
    conventions: ['flue'],
    setting:
      'pass sanitize: (event) => event (older versions: captureContent: true) to createOpenTelemetryObserver',
    sendsByDefault: false,
    source: 'source of @flue/opentelemetry, an older and a newer version',
  },
  {
    emitter: 'Sentry',
    scopes: ['@sentry/*', 'sentry*'],
    conventions: ['sentry'],
    setting:
      'set recordInputs and recordOutputs of the integration to true (Python: include_prompts=True), or sendDefaultPii (Python: send_default_pii)',
    sendsByDefault: false,
    source: 'Sentry’s guide to the monitoring of AI agents',
  },
  {
    emitter: 'Genkit',
    scopes: ['genkit-tracer'],
    conventions: ['genkit'],
    setting:
      'Genkit always sends content and has no setting for it: look for a span processor or a Collector that takes it out',
    sendsByDefault: true,
    source: 'source of @genkit-ai/core 1.42, tracing; recorded: genkit for Go 1.4',
  },
  {
    emitter: 'Strands Agents',
    scopes: ['strands-agents*', 'strands.telemetry*'],
    setting:
      'Strands always sends content and has no setting for it: look for a span processor or a Collector that takes it out',
    sendsByDefault: true,
    source: 'Strands’ page on redaction; source of @strands-agents/sdk 1.19, telemetry',
  },
  {
    emitter: 'MLflow',
    scopes: ['mlflow*'],
    conventions: ['mlflow'],
    setting:
      'MLflow always sends content and has no setting for it: look for a span processor or a Collector that takes it out',
    sendsByDefault: true,
    source: 'issue 24163 of mlflow, which asks for one',
  },
  {
    emitter: 'Braintrust',
    scopes: ['braintrust*', '@braintrust/*'],
    conventions: ['braintrust'],
    setting:
      'Braintrust always sends content and has no setting for it: look for a span processor or a Collector that takes it out',
    sendsByDefault: true,
    source: 'source of braintrust’s tracers for Go and Java',
  },
  {
    emitter: 'VoltAgent',
    scopes: ['voltagent*', '@voltagent/*'],
    conventions: ['voltagent'],
    setting:
      'VoltAgent always sends content and has no setting for it: look for a span processor or a Collector that takes it out',
    sendsByDefault: true,
    source: 'source of @voltagent/core, agent',
  },
  {
    emitter: 'OpenInference',
    scopes: ['openinference*', '@arizeai/*'],
    conventions: ['crewai', 'openinference'],
    setting: 'leave OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS unset or set them to false',
    sendsByDefault: true,
    source: 'source of openinference-instrumentation 0.1.72, config',
  },
  {
    emitter: 'OpenLLMetry (JavaScript)',
    scopes: ['@traceloop/*'],
    setting: 'leave traceContent of the instrumentation’s options out or set it to true',
    sendsByDefault: true,
    source: 'source of @traceloop/instrumentation-openai 0.27',
  },
];
