import { describe, expect, it } from 'vitest';
import { readUpstreamProbability } from '../../../../src/scoring/select/select-rules.ts';
import { agentSpan, newTraceId } from '../../../support/scoring/scoring-world.ts';

const traceId = newTraceId();

function probabilityOf(...traceStates: string[]): number {
  const spans = traceStates.map((traceState, index) =>
    agentSpan(traceId, `${index}`, { traceState, ...(index === 0 ? {} : { parent: '0' }) }),
  );
  return readUpstreamProbability({ spans });
}

describe('the probability of sampling before spanscore', () => {
  it.each([
    ['ot=th:8', 0.5],
    ['ot=th:0', 1],
    ['ot=th:c', 0.25],
    ['ot=th:fd70a4', 1 - 0xfd70a4 / 2 ** 24],
    ['ot=th:ffffffffffffff', 2 ** -56],
    ['vendor=x:th:1,ot=rv:6e6d1a75832a2f;th:e', 0.125],
    ['ot=th:8;rv:6e6d1a75832a2f, other=1', 0.5],
  ])('comes from the threshold of %s', (traceState, expected) => {
    expect(probabilityOf(traceState)).toBeCloseTo(expected, 8);
  });

  it.each([
    '',
    'ot=',
    'ot=th:',
    'ot=th:8G',
    'ot=th:C',
    'ot=th:123456789abcdef',
    'ot=th:-8',
    'ot=rv:6e6d1a75832a2f',
    'not=th:8',
    'other=th:8',
    'ot=xth:8',
  ])('is 1 without a threshold that can be read: %s', (traceState) => {
    expect(probabilityOf(traceState)).toBe(1);
  });

  it('comes from the root, else from the first span that tells it', () => {
    expect(probabilityOf('ot=th:8', 'ot=th:c')).toBe(0.5);
    expect(probabilityOf('', 'ot=th:c', 'ot=th:8')).toBe(0.25);
    const spans = ['a', 'b'].map((id, index) =>
      agentSpan(traceId, id, {
        traceState: index === 0 ? 'ot=th:c' : 'ot=th:8',
        ...(index === 0 ? { parent: 'b' } : {}),
      }),
    );
    expect(readUpstreamProbability({ spans })).toBe(0.5);
  });
});
