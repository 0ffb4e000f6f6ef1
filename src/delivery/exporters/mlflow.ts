import { z } from 'zod';
import { secret } from '../../config/schema/fields.ts';
import type { Score } from '../../domain/score.ts';
import { bearerHeader } from '../http/ask-tool.ts';
import { defineExporter } from './exporter.ts';
import { createToolExporter, describeScore, knownTrace, readAuthor, toolOptions } from './tool.ts';

/** The exporter `exporters.mlflow`. */
export const mlflowExporter = defineExporter({
  name: 'mlflow',
  options: z
    .strictObject({
      ...toolOptions('http://127.0.0.1:5000'),
      token: secret('Bearer token of the tracking server.').optional(),
    })
    .describe('Scores as assessments of traces in MLflow.'),
  create: ({ token, ...options }) => [
    createToolExporter(options, {
      name: 'mlflow',
      headers: bearerHeader(token),
      hasSessions: false,
      // A second POST of an assessment fails, and one without an id makes a second row: so PATCH goes first.
      write: async (score, ask) => {
        const [trace, path] = findTrace(score);
        const value = readValue(score);
        const update = { assessment: value, update_mask: 'feedback,rationale,metadata' };
        const patched = await ask('PATCH', `${path}/${score.scoreId}`, update);
        const isTraceUnknown = patched.text.includes(trace) && !patched.text.includes(score.scoreId);
        if (patched.status !== 404 || isTraceUnknown) {
          return knownTrace(patched);
        }
        return knownTrace(await ask('POST', path, { assessment: { ...describe(score, trace), ...value } }));
      },
      remove: (score, ask) => ask('DELETE', `${findTrace(score)[1]}/${score.scoreId}`),
    }),
  ],
});

/** Returns the id of the trace in MLflow, and the path of its assessments. */
function findTrace({ traceId }: Score): readonly [string, string] {
  const trace = `tr-${traceId}`;
  return [trace, `/api/3.0/mlflow/traces/${trace}/assessments`];
}

function readValue(score: Score) {
  const metadata = { ...describeScore(score), 'spanscore.label': score.label };
  return { feedback: { value: score.score }, rationale: score.reason, metadata };
}

function describe(score: Score, trace: string) {
  const author = readAuthor(score);
  return {
    assessment_id: score.scoreId,
    assessment_name: score.scorer,
    trace_id: trace,
    ...(score.target === 'trace' ? {} : { span_id: score.spanId }),
    source: {
      source_type: author === 'LLM' ? 'LLM_JUDGE' : author,
      source_id: score.scoredBy || score.judgeModel || 'spanscore',
    },
    valid: true,
  };
}
