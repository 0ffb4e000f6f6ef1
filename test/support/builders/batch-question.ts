import type { BatchRequest } from '../../../src/store/contracts/judge-batches.ts';

/** Builds a question of a batch that waits to be sent. */
export function aBatchQuestion(customId: string, estimatedUsd: number | null, rule = 'r'): BatchRequest {
  return {
    customId,
    chunk: '',
    jobId: 'job',
    tenant: '',
    traceId: 't',
    sessionId: '',
    scoreId: 's',
    rule,
    model: 'local/judge',
    status: 'waiting',
    tries: 1,
    estimatedUsd,
    costUsd: null,
    version: 1,
    body: '{}',
    replyStatus: 0,
    reply: '',
  };
}
