import type { SpanNode } from './assembly/span-tree.ts';

/** How to make an emitter send content, by the beginning of its scope name. */
const SWITCHES: readonly (readonly [scope: string, advice: string])[] = [
  [
    'ai',
    'in the AI SDK set recordInputs and recordOutputs of experimental_telemetry to true (or leave them out)',
  ],
  [
    'gen_ai',
    'in the AI SDK set recordInputs and recordOutputs of the telemetry option to true (or leave them out)',
  ],
  [
    'opentelemetry.',
    'set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT',
  ],
  ['@opentelemetry/', 'set captureMessageContent: true in the instrumentation’s options'],
  ['io.opentelemetry.', 'set otel.instrumentation.genai.capture-message-content=true'],
  ['pydantic-ai', 'use InstrumentationSettings(include_content=True)'],
  [
    'gcp.vertex.agent',
    'set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT',
  ],
  ['agent_framework', 'set ENABLE_SENSITIVE_DATA=true'],
  ['semantic_kernel', 'set SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true'],
  ['Experimental.Microsoft.Extensions.AI', 'set EnableSensitiveData = true on UseOpenTelemetry'],
  ['org.springframework', 'set spring.ai.chat.observations.log-prompt and log-completion to true'],
  ['ai.koog', 'call setVerbose(true) on the OpenTelemetry feature'],
  ['autogen', 'add the OpenInference instrumentation for AutoGen: its own spans never carry content'],
  ['openinference', 'set OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS to false'],
  ['@arizeai/', 'set OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS to false'],
  ['@traceloop/', 'set traceContent to true in the instrumentation’s options'],
];

/** What to switch on so that these spans carry content; a general hint for emitters that are not known. */
export function contentAdvice(nodes: readonly SpanNode[]): string {
  for (const { span } of nodes) {
    const known = SWITCHES.find(([scope]) => span.scopeName === scope || isBelow(span.scopeName, scope));
    if (known !== undefined) {
      return `${known[1]} (scope ${span.scopeName})`;
    }
  }
  const scope = nodes.find((node) => node.span.scopeName !== '')?.span.scopeName;
  return `switch on the capture of message content in the emitter${scope === undefined ? '' : ` (scope ${scope})`}`;
}

/** Short names stand for themselves; longer ones for all that begins with them. */
function isBelow(scopeName: string, prefix: string): boolean {
  return prefix.length > 6 && scopeName.startsWith(prefix);
}
