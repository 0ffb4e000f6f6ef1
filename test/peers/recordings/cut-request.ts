/** Attributes that no reader needs: facts about the machine and the process, and schemas and counters of frameworks. */
const CUT = [
  /^(process|host|os|telemetry\.sdk|service\.instance)\./,
  /^code\.(filepath|file\.path|lineno|line\.number|function|function\.name|module)$/,
  /^logfire\.(json_schema|metrics)$/,
  /^langfuse\.observation\.metadata\.(tags|checkpoint_ns|lc_versions|ls_.*|langgraph_(step|triggers|path|checkpoint_ns|request_id))$/,
];

interface Holder {
  readonly key?: unknown;
  readonly observedTimeUnixNano?: unknown;
  readonly traceId?: unknown;
}

/**
 * Returns an OTLP/JSON request without these attributes and without log records of no trace, which nobody reads, so that a
 * fixture is small and knows no machine.
 */
export function cutRequest(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.filter((item) => !isCut(item)).map(cutRequest);
  }
  if (typeof value !== 'object' || value === null) {
    return value;
  }
  return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, cutRequest(held)]));
}

function isCut(item: unknown): boolean {
  const { key, observedTimeUnixNano, traceId } = (item ?? {}) as Holder;
  const isLooseLog = observedTimeUnixNano !== undefined && (traceId ?? '') === '';
  return isLooseLog || (typeof key === 'string' && CUT.some((pattern) => pattern.test(key)));
}
