import { describe, expect, it } from 'vitest';
import { choosePayable } from '../../../src/batches/payable-requests.ts';
import type { BatchRequest } from '../../../src/store/contracts/judge-batches.ts';

const request = (customId: string, estimatedUsd: number | null, rule = 'r'): BatchRequest => ({
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
});

const rest = (usd: Record<string, number>) => ({
  readRest: async ({ rule }: { rule: string }) => usd[rule] ?? Infinity,
});
const none = { unbooked: [], jobRestUsd: Infinity };
const ids = (requests: readonly BatchRequest[]) => requests.map(({ customId }) => customId);

describe('questions', () => {
  it('are paid in their order while their rule has money, and each rule has its own', async () => {
    const asked = [request('a', 2), request('b', 2), request('c', 1), request('d', 9, 'other')];

    const { payable, refused } = await choosePayable(asked, { ...none, money: rest({ r: 3 }) });

    expect(ids(payable)).toEqual(['a', 'c', 'd']);
    expect(refused).toEqual([{ request: asked[1], isOfJob: false }]);
  });

  it('leave the money of questions that are on their way', async () => {
    const unbooked = [request('x', 2), request('y', 2, 'other')];

    const { payable } = await choosePayable([request('a', 2)], { ...none, unbooked, money: rest({ r: 3 }) });

    expect(payable).toEqual([]);
  });

  it('share the money of the job', async () => {
    const asked = [request('a', 2), request('b', 2, 'other')];

    const { payable, refused } = await choosePayable(asked, { ...none, jobRestUsd: 3, money: rest({}) });

    expect(ids(payable)).toEqual(['a']);
    expect(refused).toEqual([{ request: asked[1], isOfJob: true }]);
  });

  it('to a judge without a price need no money', async () => {
    const { payable } = await choosePayable([request('a', null)], { ...none, money: rest({ r: 0 }) });

    expect(ids(payable)).toEqual(['a']);
  });
});
