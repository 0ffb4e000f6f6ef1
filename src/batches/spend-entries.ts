import type { BatchChunk, BatchRequestRow } from '../store/contracts/judge-batches.ts';
import type { SpendEntry } from '../store/contracts/stores.ts';

/** Lists the costs of replies. The names and times of all entries are the same in a repeat, so that each counts once. */
export function listCosts(chunk: BatchChunk, requests: readonly BatchRequestRow[]): SpendEntry[] {
  return requests.flatMap(({ costUsd, ...request }) =>
    costUsd === null || costUsd === 0
      ? []
      : [buildEntry(chunk, { ...request, costUsd, entryId: request.customId })],
  );
}

/** Lists the expected costs of a chunk, one entry for each question; with a sign of -1, the entries that take them back. */
export function listEstimates(
  chunk: BatchChunk,
  requests: readonly BatchRequestRow[],
  sign: 1 | -1,
): SpendEntry[] {
  return requests.flatMap(({ estimatedUsd, ...request }) =>
    estimatedUsd === null || estimatedUsd === 0
      ? []
      : [
          buildEntry(chunk, {
            ...request,
            costUsd: sign * estimatedUsd,
            entryId: `${request.customId} ${sign === 1 ? 'expected' : 'returned'}`,
          }),
        ],
  );
}

function buildEntry(
  { id, intendedAtMs }: BatchChunk,
  {
    rule,
    tenant,
    scoreId,
    costUsd,
    entryId,
  }: Pick<SpendEntry, 'rule' | 'tenant' | 'scoreId' | 'costUsd' | 'entryId'>,
): SpendEntry {
  return {
    kind: 'call',
    scope: '',
    rule,
    tenant,
    scoreId,
    costUsd,
    atMs: intendedAtMs,
    leaseId: id,
    entryId,
  };
}
