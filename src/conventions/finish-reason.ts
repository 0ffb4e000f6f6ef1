import type { Attributes } from '../domain/trace/span.ts';
import { findFirst, readList, readText } from './attributes.ts';
import type { SpanView } from './normalised-span.ts';

/** Attributes with the output of a step or a model call as JSON. */
export const OUTPUT_KEYS = [
  'gen_ai.output.messages',
  'output.value',
  'traceloop.entity.output',
  'gen_ai.completion',
  'langfuse.observation.output',
  'mlflow.spanOutputs',
];

const REASON_KEY = /(^|[._])(finish|stop)_?reasons?$/i;

const REASON_IN_OUTPUT =
  /"(?:finish_reason|finishReason|stop_reason|stopReason|done_reason)"\s*:\s*"([^"\\]{1,40})"|"incomplete_details"\s*:\s*\{\s*"reason"\s*:\s*"([^"\\]{1,40})"/g;

export function findFinishReason({ span, logs }: SpanView): string | undefined {
  const sources = [span, ...span.events, ...logs].map(({ attributes }) => attributes);
  return findFirst(sources, reasonAmongKeys) ?? findFirst(sources, reasonInOutput);
}

function reasonAmongKeys(source: Attributes): string | undefined {
  const key = [...source.keys()].find((name) => REASON_KEY.test(name));
  return key === undefined ? undefined : readList(source, key).at(-1);
}

/** Finds the last reason in the output; a model that was cut says so last. */
function reasonInOutput(source: Attributes): string | undefined {
  for (const key of OUTPUT_KEYS) {
    const found = [...(readText(source, key)?.matchAll(REASON_IN_OUTPUT) ?? [])].map(
      ([, reason, incomplete]) => incomplete ?? reason,
    );
    if (found.length > 0) {
      return found.at(-1);
    }
  }
  return undefined;
}
