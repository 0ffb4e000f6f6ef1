import { z } from 'zod';
import { secret } from '../../config/schema/fields.ts';
import type { Score } from '../../domain/score.ts';
import { defineExporter } from './exporter.ts';
import { createToolExporter, describeScore, readAuthor, toolOptions } from './tool.ts';

/** The exporter `exporters.datadog`. */
export const datadogExporter = defineExporter({
  name: 'datadog',
  options: z
    .strictObject({
      ...toolOptions('https://api.datadoghq.com'),
      apiKey: secret('API key of Datadog.'),
      mlApp: z
        .string()
        .min(1)
        .describe('Name of the application in LLM Observability.')
        .meta({ examples: ['shop'] }),
    })
    .describe('Scores as evaluations of spans in Datadog LLM Observability. Datadog cannot delete one.'),
  create: ({ apiKey, mlApp, ...options }) => [
    createToolExporter(options, {
      name: 'datadog',
      headers: { 'DD-API-KEY': apiKey },
      hasSessions: false,
      needsSpan: true,
      write: (score, ask) => {
        const attributes = { metrics: [buildMetric(score, mlApp)] };
        const data = { type: 'evaluation_metric', attributes };
        return ask('POST', '/api/intake/llm-obs/v2/eval-metric', { data });
      },
    }),
  ],
});

/** Most characters of a label. */
const MAX_LABEL = 200;

/** Builds a metric. One with the same time stamp replaces the earlier one: so the time is that of the run. */
function buildMetric(score: Score, mlApp: string) {
  const facts = {
    ...describeScore(score),
    'spanscore.label': score.label,
    'spanscore.author': readAuthor(score),
  };
  return {
    event_kind: 'evaluation',
    join_on: { span: { span_id: toDecimal(score.spanId), trace_id: toDecimal(score.traceId) } },
    label: toLabel(score.scorer),
    metric_type: 'score',
    score_value: score.score,
    ml_app: mlApp,
    timestamp_ms: Math.trunc(score.traceTimestamp),
    tags: ['source:otel', ...Object.entries(facts).map(([name, value]) => `${name}:${value}`)],
    ...(score.reason === '' ? {} : { reasoning: score.reason }),
  };
}

/** Datadog writes the ids of OpenTelemetry as decimal numbers. */
function toDecimal(hex: string): string {
  return BigInt(`0x${hex}`).toString();
}

function toLabel(scorer: string): string {
  const label = scorer.replaceAll(/\W/gu, '_');
  return (/^[a-z]/iu.test(label) ? label : `s_${label}`).slice(0, MAX_LABEL);
}
