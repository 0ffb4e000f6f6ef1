import { OTEL_PYTHON_CAPTURE } from '../advice/content-switch.ts';
import { readText } from '../attributes.ts';
import { type Fields, parseValue, parseIfText } from '../json.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';

const SCOPE = 'opentelemetry.instrumentation.google_genai';

/**
 * Tools of OpenTelemetry's instrumentation of Google's GenAI SDK before its version 1: one attribute for each parameter of the
 * function. Everything else is `otel-genai`.
 */
export const googleGenai: Convention = {
  name: 'google-genai',
  detect,
  read,
  signals: { keyPrefixes: ['code.function.parameters.'], scopes: [SCOPE] },
  switches: [
    {
      emitter: 'Google GenAI (OpenTelemetry)',
      scopes: [SCOPE],
      conventions: ['google-genai'],
      setting: OTEL_PYTHON_CAPTURE,
      sendsByDefault: false,
      source: 'README of opentelemetry-instrumentation-google-genai',
    },
  ],
};

const PARAMETER = /^code\.function\.parameters\.(.+)\.value$/;
const RESULT = 'code.function.return.value';

function detect({ span }: SpanView): boolean {
  return span.scopeName === SCOPE && span.attributes.get('gen_ai.operation.name') === 'execute_tool';
}

function read({ span }: SpanView): SpanFacts {
  const args: Fields = {};
  for (const key of span.attributes.keys()) {
    const name = PARAMETER.exec(key)?.[1];
    const value = name === undefined ? undefined : readText(span.attributes, key);
    if (name !== undefined && value !== undefined) {
      const type = span.attributes.get(`code.function.parameters.${name}.type`);
      args[name] = type === 'str' ? value : parseValue(value);
    }
  }
  return {
    role: 'tool',
    ...(Object.keys(args).length === 0 ? {} : { toolArgs: args }),
    toolResult: parseIfText(readText(span.attributes, RESULT)),
  };
}
