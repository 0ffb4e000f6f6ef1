/** Settings with which one SDK sends its spans and their content. */
export interface SdkSetting {
  readonly name: string;
  readonly language: 'JavaScript' | 'Python' | 'Java';
  /** Packages to install; undefined when the SDK has all that it needs. */
  readonly install?: string;
  /** Lines of code or settings to copy, beside the variables of the endpoint; `ENDPOINT` stands for the address for spans. */
  readonly lines: readonly string[];
  /** Page of docs/quickstarts with a whole program. */
  readonly page?: string;
}

/** Stands for the address for spans in a line. */
const ENDPOINT = '${endpoint}';

const PYTHON_PACKAGES = 'opentelemetry-sdk opentelemetry-exporter-otlp-proto-http';

const PYTHON_PROVIDER = [
  'telemetry = TracerProvider()',
  'telemetry.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))',
];

const CAPTURE = [
  'export OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental',
  'export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT',
];

/** The ten commonest SDKs. The lines stand in the programs of the quickstarts and in the settings of the conventions. */
export const SDK_SETTINGS: readonly SdkSetting[] = [
  {
    name: 'AI SDK 7',
    language: 'JavaScript',
    install: 'npm install @ai-sdk/otel @opentelemetry/sdk-node',
    lines: [
      'const telemetry = new NodeSDK();',
      'telemetry.start();',
      'registerTelemetry(new OpenTelemetry({ runtimeContext: true }));',
    ],
    page: 'ai-sdk',
  },
  {
    name: 'Mastra',
    language: 'JavaScript',
    install: 'npm install @mastra/observability @mastra/otel-exporter',
    lines: [
      'const exporter = new OtelExporter({',
      `  provider: { custom: { endpoint: '${ENDPOINT}/v1/traces', protocol: 'http/json' } },`,
      '});',
    ],
    page: 'mastra',
  },
  {
    name: 'OpenAI Agents',
    language: 'Python',
    install: `pip install openinference-instrumentation-openai-agents ${PYTHON_PACKAGES}`,
    lines: [...PYTHON_PROVIDER, 'OpenAIAgentsInstrumentor().instrument(tracer_provider=telemetry)'],
    page: 'openai-agents',
  },
  {
    name: 'LangGraph and LangChain',
    language: 'Python',
    install: `pip install openinference-instrumentation-langchain ${PYTHON_PACKAGES}`,
    lines: [...PYTHON_PROVIDER, 'LangChainInstrumentor().instrument(tracer_provider=telemetry)'],
    page: 'langgraph',
  },
  {
    name: 'Pydantic AI',
    language: 'Python',
    install: `pip install ${PYTHON_PACKAGES}`,
    lines: [
      ...PYTHON_PROVIDER,
      'trace.set_tracer_provider(telemetry)',
      'agent.instrument = InstrumentationSettings(include_content=True)',
    ],
    page: 'pydantic-ai',
  },
  {
    name: 'LlamaIndex',
    language: 'Python',
    install: `pip install openinference-instrumentation-llama-index ${PYTHON_PACKAGES}`,
    lines: [...PYTHON_PROVIDER, 'LlamaIndexInstrumentor().instrument(tracer_provider=telemetry)'],
  },
  {
    name: 'CrewAI',
    language: 'Python',
    install: `pip install openinference-instrumentation-crewai ${PYTHON_PACKAGES}`,
    lines: [...PYTHON_PROVIDER, 'CrewAIInstrumentor().instrument(tracer_provider=telemetry)'],
  },
  { name: 'Google ADK 2', language: 'Python', lines: CAPTURE },
  { name: 'OpenTelemetry instrumentations of model clients', language: 'Python', lines: CAPTURE },
  {
    name: 'Spring AI',
    language: 'Java',
    lines: [
      'spring.ai.chat.observations.log-prompt=true',
      'spring.ai.chat.observations.log-completion=true',
      'spring.ai.tools.observations.include-content=true',
      '# Spring AI 2, with Spring Boot 4',
      `management.opentelemetry.tracing.export.otlp.endpoint=${ENDPOINT}/v1/traces`,
      `management.opentelemetry.logging.export.otlp.endpoint=${ENDPOINT}/v1/logs`,
      '# Spring AI 1, with Spring Boot 3',
      `management.otlp.tracing.endpoint=${ENDPOINT}/v1/traces`,
      `management.otlp.logging.endpoint=${ENDPOINT}/v1/logs`,
    ],
  },
];

/** Variables that most SDKs read. */
export function endpointVariables(endpoint: string): string {
  return [
    `export OTEL_EXPORTER_OTLP_ENDPOINT=${endpoint}`,
    'export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf',
  ].join('\n');
}

/** Writes the lines of an SDK for an address for spans. */
export function writeSettings({ lines }: SdkSetting, endpoint: string): string {
  return lines.join('\n').replaceAll(ENDPOINT, endpoint);
}

/** Port on which OTLP/HTTP listens by default. */
const OTLP_HTTP_PORT = 4318;

/** Hosts of a process that listens on all addresses. */
const EVERY_HOST: readonly string[] = ['0.0.0.0', '[::]'];

/**
 * Chooses the address for spans: that of the process, on the host of the dashboard when the process listens on all addresses. While it is not
 * known, the default port of that host.
 */
export function chooseEndpoint(otlpHttp: string | null | undefined, dashboardHost: string): string {
  if (otlpHttp === null || otlpHttp === undefined) {
    return `http://${dashboardHost}:${OTLP_HTTP_PORT}`;
  }
  const url = new URL(otlpHttp);
  if (EVERY_HOST.includes(url.hostname)) {
    url.hostname = dashboardHost;
  }
  return url.origin;
}
