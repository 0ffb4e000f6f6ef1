import { describe, expect, it } from 'vitest';
import { choosePayable } from '../../../src/batches/payable-requests.ts';
import type { ScopeRest } from '../../../src/domain/money/budget.ts';
import type { BatchRequestRow } from '../../../src/store/contracts/judge-batches.ts';
import { aBatchQuestion as request } from '../../support/builders/batch-question.ts';

const ofRule = (name: string, restUsd: number): ScopeRest => ({ scope: { kind: 'rule', name }, restUsd });
const ofAll = (restUsd: number): ScopeRest => ({ scope: { kind: 'total', name: '' }, restUsd });
const none = { unbooked: [], jobRestUsd: Infinity };
const ids = (requests: readonly BatchRequestRow[]) => requests.map(({ customId }) => customId);

describe('questions', () => {
  it('are paid in their order while their rule has money, and each rule has its own', () => {
    const asked = [request('a', 2), request('b', 2), request('c', 1), request('d', 9, 'other')];

    const { payable, refused } = choosePayable(asked, { ...none, rests: [ofRule('r', 3)] });

    expect(ids(payable)).toEqual(['a', 'c', 'd']);
    expect(refused).toEqual([{ request: asked[1], isOfJob: false }]);
  });

  it('of several rules share the money of the installation', () => {
    const asked = [request('a', 2), request('b', 2, 'other'), request('c', 1, 'third')];

    const { payable } = choosePayable(asked, { ...none, rests: [ofRule('r', 9), ofAll(3)] });

    expect(ids(payable)).toEqual(['a', 'c']);
  });

  it('of one tenant leave the money of another one', () => {
    const rests: ScopeRest[] = [{ scope: { kind: 'tenant', name: 'x' }, restUsd: 1 }, ofAll(9)];
    const asked = [
      { ...request('a', 2), tenant: 'x' },
      { ...request('b', 2), tenant: 'y' },
    ];

    expect(ids(choosePayable(asked, { ...none, rests }).payable)).toEqual(['b']);
  });

  it.each([
    ['the same rule', 'r', ofRule('r', 3)],
    ['another rule, from the money of the installation,', 'other', ofAll(3)],
  ])('leave the money of questions of %s that are on their way', (_title, rule, rest) => {
    const unbooked = [request('x', 2, rule)];

    expect(choosePayable([request('a', 2)], { ...none, unbooked, rests: [rest] }).payable).toEqual([]);
  });

  it('share the money of the job', () => {
    const asked = [request('a', 2), request('b', 2, 'other')];

    const { payable, refused } = choosePayable(asked, { unbooked: [], jobRestUsd: 3, rests: [] });

    expect(ids(payable)).toEqual(['a']);
    expect(refused).toEqual([{ request: asked[1], isOfJob: true }]);
  });

  it('to a judge without a price need no money', () => {
    const rests = [ofRule('r', 0), ofAll(-1)];

    expect(ids(choosePayable([request('a', null)], { ...none, rests }).payable)).toEqual(['a']);
  });
});
