import { z } from '@hono/zod-openapi';

/** Time of a reply. */
export const Time = z.string().openapi({ format: 'date-time', example: '2026-11-22T10:15:04.123Z' });

/** Schema of a series of scores. */
export const Series = z
  .object({
    tenant: z.string(),
    scorer: z.string(),
    fingerprint: z.string().describe('Changes with the scorer or its judge.'),
    agent: z.string(),
    environment: z.string(),
    target: z.enum(['agent', 'model-call', 'session']).optional().describe('Absent for whole runs.'),
    model: z.string().optional(),
    agentVersion: z.string().optional(),
    serviceVersion: z.string().optional(),
    service: z.string().optional(),
  })
  .openapi('Series');
