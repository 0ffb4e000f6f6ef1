import { z } from 'zod';
import { secret } from '../../config/schema/fields.ts';
import type { Score } from '../../domain/score.ts';
import { basicHeader } from '../http/ask-tool.ts';
import { defineExporter } from './exporter.ts';
import { createToolExporter, describeScore, readAuthor, toolOptions } from './tool.ts';

/** The exporter `exporters.langfuse`. */
export const langfuseExporter = defineExporter({
  name: 'langfuse',
  options: z
    .strictObject({
      ...toolOptions('https://cloud.langfuse.com'),
      publicKey: secret('Public key of the project.'),
      secretKey: secret('Secret key of the project.'),
    })
    .describe('Scores as scores of traces, observations and sessions in Langfuse.'),
  create: ({ publicKey, secretKey, ...options }) => [
    createToolExporter(options, {
      name: 'langfuse',
      headers: basicHeader(publicKey, secretKey),
      hasSessions: true,
      write: async (score, ask) => {
        const reply = await ask('POST', '/api/public/ingestion', { batch: [buildEvent(score)] });
        // The reply is 207, with a status of its own for each event.
        const refused = reply.status === 207 ? readRefusal(reply.text) : undefined;
        return refused === undefined ? reply : { ...reply, status: refused };
      },
      remove: ({ scoreId }, ask) => ask('DELETE', `/api/public/scores/${scoreId}`),
    }),
  ],
});

/** Names that Langfuse takes for an environment. */
const ENVIRONMENT = /^(?!langfuse)[a-z0-9_-]{1,40}$/u;

/** Builds an event. Langfuse keys a score by (id, name, day of the time stamp): so the time is that of the run. */
function buildEvent(score: Score) {
  const { target, scoreId, revision, environment } = score;
  const timestamp = new Date(Math.trunc(score.traceTimestamp)).toISOString();
  const isSpan = target === 'agent' || target === 'model-call';
  const body = {
    id: scoreId,
    ...(target === 'session' ? { sessionId: score.sessionId } : { traceId: score.traceId }),
    ...(isSpan ? { observationId: score.spanId } : {}),
    name: score.scorer,
    value: score.score,
    dataType: 'NUMERIC',
    comment: score.reason,
    metadata: {
      ...describeScore(score),
      'spanscore.label': score.label,
      'spanscore.author': readAuthor(score),
    },
    ...(ENVIRONMENT.test(environment) ? { environment } : {}),
  };
  return { id: `${scoreId}.${revision}`, type: 'score-create', timestamp, body };
}

const Refusals = z.object({ errors: z.array(z.object({ status: z.number() })) });

/** Returns the status of an event that was refused. A reply that cannot be read confirms nothing. */
function readRefusal(text: string): number | undefined {
  try {
    return Refusals.parse(JSON.parse(text)).errors[0]?.status;
  } catch {
    return 502;
  }
}
