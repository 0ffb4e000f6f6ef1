import { z } from 'zod';
import { secret } from '../../config/schema/fields.ts';
import type { Score } from '../../domain/score.ts';
import { bearerHeader } from '../http/ask-tool.ts';
import { defineExporter } from './exporter.ts';
import { createToolExporter, describeScore, knownTrace, readAuthor, toolOptions } from './tool.ts';

/** The exporter `exporters.phoenix`. */
export const phoenixExporter = defineExporter({
  name: 'phoenix',
  options: z
    .strictObject({
      ...toolOptions('http://127.0.0.1:6006'),
      apiKey: secret('API key of Phoenix, where it has users.').optional(),
      project: z.string().min(1).default('default').describe('Project of the traces.'),
    })
    .describe('Scores as annotations of traces, spans and sessions in Phoenix.'),
  create: ({ apiKey, project, ...options }) => [
    createToolExporter(options, {
      name: 'phoenix',
      headers: bearerHeader(apiKey),
      hasSessions: true,
      // Without `sync`, Phoenix answers 200 and loses annotations of traces that do not come within minutes.
      write: async (score, ask) => {
        const [kind, target] = findTarget(score);
        const data = [{ ...annotate(score), ...target }];
        return knownTrace(await ask('POST', `/v1/${kind}_annotations?sync=true`, { data }));
      },
      // Phoenix has no filter by trace here: so the identifier alone has to name the score.
      remove: (score, ask) => {
        const query = `identifier=${score.scoreId}&delete_all=true`;
        const [kind] = findTarget(score);
        return ask('DELETE', `/v1/projects/${encodeURIComponent(project)}/${kind}_annotations?${query}`);
      },
    }),
  ],
});

function findTarget({ target, traceId, spanId, sessionId }: Score): readonly [string, object] {
  return target === 'session'
    ? ['session', { session_id: sessionId }]
    : target === 'trace'
      ? ['trace', { trace_id: traceId }]
      : ['span', { span_id: spanId }];
}

/** Builds an annotation. Its key is (name, target, identifier): a score again updates it. */
function annotate(score: Score) {
  return {
    name: score.scorer,
    annotator_kind: readAuthor(score),
    result: { score: score.score, label: score.label || null, explanation: score.reason || null },
    metadata: describeScore(score),
    identifier: score.scoreId,
  };
}
