import { expect, it } from 'vitest';
import { ChunkStep, type StepDeps } from '../../../src/batches/chunk-step.ts';
import type { BatchClient } from '../../../src/judge/batch/batch-client.ts';
import type { BatchChunk, BatchRequestRow } from '../../../src/store/contracts/judge-batches.ts';
import { aBatchQuestion } from '../../support/builders/batch-question.ts';

const CHUNK: BatchChunk = {
  id: 'chunk',
  jobId: 'job',
  provider: 'local',
  status: 'created',
  requests: 2,
  intendedAtMs: 0,
  batchId: 'batch',
  inputFileId: 'file',
  outputFileId: '',
  errorFileId: '',
  error: '',
};

const claimed = (id: string): BatchRequestRow => ({ ...aBatchQuestion(id, 1), status: 'claimed' });

/** Looks at a batch under way whose chunk has these questions now. Returns the ids of the batches that were cancelled. */
async function look(questions: readonly BatchRequestRow[]): Promise<string[]> {
  const cancelled: string[] = [];
  const client = {
    read: async (id: string) => ({ id, status: 'in_progress' }),
    cancel: async (id: string) => void cancelled.push(id),
  } as unknown as BatchClient;
  const deps = {
    batches: { requestsOf: async () => questions },
    jobs: { find: async () => ({ status: 'running' }) },
  } as unknown as StepDeps;
  await new ChunkStep(deps, CHUNK, client, async () => undefined).take();
  return cancelled;
}

it('a batch goes on when a question that was not paid is asked in another one', async () => {
  const unpaid = { ...aBatchQuestion('c', 1), status: 'unpaid' as const };
  expect(await look([claimed('a'), claimed('b'), unpaid])).toEqual([]);
  expect(await look([claimed('a'), claimed('b')])).toEqual([]);
});

it('a batch is cancelled when a question that was sent is purged', async () => {
  const unpaid = { ...aBatchQuestion('c', 1), status: 'unpaid' as const };
  expect(await look([claimed('a'), unpaid])).toEqual(['batch']);
});
