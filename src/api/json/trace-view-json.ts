import { decisionJson } from './decision-json.ts';
import type { TraceView } from '../reads/traces.ts';
import { scoreJson } from './score-json.ts';
import { computedJson } from './computed-json.ts';
import { createTextCutter, type TextCutter } from './cut-texts.ts';
import { spanJson, type StepSpan } from './span-json.ts';
import { deriveState } from './trace-json.ts';

/** Formats a whole trace as JSON, with big texts cut. */
export function traceViewJson({
  key,
  reading,
  spans,
  scores,
  decisions,
  computed,
  joinedWith,
  nowMs,
}: TraceView) {
  const cutter = createTextCutter();
  const counts = Object.entries(Object.groupBy(decisions, ({ status }) => status));
  const cut = reading === null ? null : cutter.cut(reading);
  return {
    tenant: key.tenant,
    traceId: key.traceId,
    state: deriveState(
      Object.fromEntries(counts.map(([status, rows]) => [status, rows.length])),
      scores.length,
    ),
    reading: cut === null ? null : { ...cut.value, truncated: cut.truncated },
    spans: spans.map((span) => cutSpanJson(span, cutter)),
    scores: scores.map(scoreJson),
    decisions: [...decisions.map((decision) => decisionJson(decision, nowMs)), ...computed.map(computedJson)],
    joinedWith,
  };
}

function cutSpanJson(span: StepSpan, cutter: TextCutter) {
  const { value, truncated } = cutter.cut(spanJson(span));
  return { ...value, truncated };
}
