import type { Span } from '../domain/span.ts';

/** How to make one emitter send what was said. */
interface ContentSwitch {
  /** Names of its scopes, or how they begin when they end with a star. */
  readonly scopes: readonly string[];
  /** For emitters whose scope is the application's own: the convention that only they speak. */
  readonly convention?: string;
  readonly setting: string;
}

const OTEL_PYTHON =
  'set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT';

/** The first that fits counts: particular scopes before the families that they belong to. */
const CONTENT_SWITCHES: readonly ContentSwitch[] = [
  {
    scopes: ['ai'],
    setting:
      'in the AI SDK set recordInputs and recordOutputs of experimental_telemetry to true (or leave them out)',
  },
  {
    scopes: ['gen_ai'],
    setting:
      'in the AI SDK set recordInputs and recordOutputs of the telemetry option to true (or leave them out)',
  },
  {
    scopes: [
      'opentelemetry.instrumentation.openai_v2',
      'opentelemetry.instrumentation.genai*',
      'opentelemetry.util.genai*',
    ],
    setting: OTEL_PYTHON,
  },
  {
    scopes: ['opentelemetry.instrumentation.*', 'traceloop*'],
    convention: 'traceloop',
    setting: 'in OpenLLMetry leave TRACELOOP_TRACE_CONTENT unset or set it to true',
  },
  { scopes: ['opentelemetry.*'], setting: OTEL_PYTHON },
  {
    scopes: ['@opentelemetry/*'],
    setting: 'set captureMessageContent: true in the instrumentation’s options',
  },
  {
    scopes: ['io.opentelemetry.*'],
    setting:
      'set otel.instrumentation.genai.capture-message-content=true (of the library: setCaptureMessageContent(true)) and export logs',
  },
  { scopes: ['pydantic-ai'], setting: 'use InstrumentationSettings(include_content=True)' },
  {
    scopes: ['gcp.vertex.agent'],
    setting: `in ADK 2 ${OTEL_PYTHON}; in ADK 1 and ADK for Java leave ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS unset or set it to true`,
  },
  { scopes: ['agent_framework*'], setting: 'set ENABLE_SENSITIVE_DATA=true' },
  {
    scopes: ['semantic_kernel*', 'Microsoft.SemanticKernel*'],
    setting: 'set SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true',
  },
  {
    scopes: ['Experimental.Microsoft.Extensions.AI*'],
    setting: 'set EnableSensitiveData = true on UseOpenTelemetry',
  },
  {
    scopes: ['org.springframework*'],
    convention: 'spring-ai',
    setting:
      'set spring.ai.chat.observations.log-prompt, spring.ai.chat.observations.log-completion and spring.ai.tools.observations.include-content to true, and export logs (the OpenTelemetry appender of Logback)',
  },
  {
    scopes: ['ai.koog'],
    convention: 'koog',
    setting: 'call setVerbose(true) on Koog’s OpenTelemetry feature',
  },
  { scopes: ['haystack'], setting: 'set HAYSTACK_CONTENT_TRACING_ENABLED=true' },
  {
    scopes: ['com.anthropic.claude_code*'],
    setting: 'set OTEL_LOG_USER_PROMPTS=1, OTEL_LOG_TOOL_DETAILS=1 and OTEL_LOG_TOOL_CONTENT=1',
  },
  {
    scopes: ['autogen*'],
    setting: 'add the OpenInference instrumentation for AutoGen: its own spans never carry content',
  },
  {
    scopes: ['openinference*', '@arizeai/*'],
    setting: 'set OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS to false',
  },
  { scopes: ['@traceloop/*'], setting: 'set traceContent to true in the instrumentation’s options' },
];

/** A span, and what it was read by. */
interface ReadSpan {
  readonly span: Span;
  readonly conventions: ReadonlyMap<string, number>;
}

/** What to switch on so that these spans carry content; a general hint for emitters that are not known. */
export function contentAdvice(spans: readonly ReadSpan[]): string {
  const scopes = [...new Set(spans.map(({ span }) => span.scopeName))];
  const known =
    find(scopes, (scope) => CONTENT_SWITCHES.find((one) => isOf(one, scope))) ??
    find(spans, ({ conventions }) => CONTENT_SWITCHES.find((one) => conventions.has(one.convention ?? '')));
  const scope = scopes.find((name) => name !== '');
  const where = scope === undefined ? '' : ` (scope ${scope})`;
  return `${known?.setting ?? 'switch on the capture of message content in the emitter'}${where}`;
}

function find<T, R>(items: readonly T[], pick: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = pick(item);
    if (found !== undefined) {
      return found;
    }
  }
  return undefined;
}

function isOf({ scopes }: ContentSwitch, scope: string): boolean {
  return scopes.some((name) => (name.endsWith('*') ? scope.startsWith(name.slice(0, -1)) : scope === name));
}
