/** Setting that makes one emitter send content. */
export interface ContentSwitch {
  readonly emitter: string;
  /** Names of its scopes; a name that ends with a star is a prefix. The longest match of all conventions wins. */
  readonly scopes: readonly string[];
  /** Conventions that only this emitter uses, for spans whose scope is the application's own; by default the one that has it. */
  readonly conventions?: readonly string[];
  /** Convention that must have read a span, for scopes that another emitter uses, too. */
  readonly requires?: string;
  /** The setting, or the reason why there is none. */
  readonly setting: string;
  /** Set when content is sent by default: then a span without content had it removed. */
  readonly sendsByDefault?: true;
  /** Source of the name of the setting: documentation, or a recording. */
  readonly source: string;
}

/** Setting of OpenTelemetry's own GenAI instrumentations for Python. */
export const OTEL_PYTHON_CAPTURE =
  'set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT';

/** Returns the advice for an emitter that always sends content. */
export function alwaysSends(emitter: string, scopes: readonly string[], source: string): ContentSwitch {
  const setting = `${emitter} always sends content and has no setting for it: look for a span processor or a Collector that takes it out`;
  return { emitter, scopes, setting, sendsByDefault: true, source };
}
