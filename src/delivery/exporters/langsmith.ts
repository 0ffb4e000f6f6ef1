import { validate as isUuid } from 'uuid';
import { z } from 'zod';
import { secret } from '../../config/schema/fields.ts';
import type { Score } from '../../domain/score.ts';
import type { Attributes } from '../../domain/trace/span.ts';
import { defineExporter } from './exporter.ts';
import { createToolExporter, describeScore, knownTrace, readAuthor, toolOptions } from './tool.ts';

/** The exporter `exporters.langsmith`. */
export const langsmithExporter = defineExporter({
  name: 'langsmith',
  options: z
    .strictObject({
      ...toolOptions('https://api.smith.langchain.com'),
      apiKey: secret('API key of LangSmith.').optional(),
      projectId: z
        .guid()
        .optional()
        .describe('Id of the project of the traces.')
        .meta({ examples: ['3f9c1a52-6f0e-4f4c-9a52-0d7d3a4f9b61'] }),
    })
    .describe('Scores as feedback of runs in LangSmith.'),
  create: ({ apiKey, projectId, ...options }, { readSpan }) => [
    createToolExporter(options, {
      name: 'langsmith',
      headers: apiKey === undefined ? {} : { 'x-api-key': apiKey },
      hasSessions: false,
      needsSpan: true,
      write: async (score, ask) => {
        const value = readValue(score);
        const project = projectId === undefined ? {} : { session_id: projectId };
        const body = { ...describe(score), ...findRun(score, await readSpan(score)), ...value, ...project };
        const created = await ask('POST', '/feedback', body);
        return knownTrace(
          created.status === 409 ? await ask('PATCH', `/feedback/${score.scoreId}`, value) : created,
        );
      },
      remove: ({ scoreId }, ask) => ask('DELETE', `/feedback/${scoreId}`),
    }),
  ],
});

/** LangSmith takes four decimals. */
const DECIMALS = 1e4;

function readValue({ score, label, reason }: Score) {
  const rounded = Math.round(score * DECIMALS) / DECIMALS;
  return { score: rounded, value: label || null, comment: reason };
}

/** LangSmith makes the ids of its runs from the ids of OpenTelemetry, unless its own library named them in the span. */
function findRun({ traceId, spanId }: Score, attributes: Attributes | undefined) {
  const own = (name: string) => {
    const id = attributes?.get(name);
    return isUuid(id) ? id : undefined;
  };
  return {
    run_id: own('langsmith.span.id') ?? `00000000-0000-0000-${spanId.slice(0, 4)}-${spanId.slice(4)}`,
    trace_id:
      own('langsmith.trace.id') ?? traceId.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/u, '$1-$2-$3-$4-$5'),
  };
}

function describe(score: Score) {
  const { scoreId, scorer } = score;
  return {
    id: scoreId,
    key: scorer,
    feedback_source: {
      type: readAuthor(score) === 'LLM' ? 'model' : 'api',
      metadata: { ...describeScore(score), 'spanscore.author': readAuthor(score) },
    },
  };
}
