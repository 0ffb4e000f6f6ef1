import { describe, expect, it } from 'vitest';
import { explainRuns, type Runs } from '../../support/builders/an-alert.ts';
import { fc } from '../../support/fast-check.ts';
import { drawIncident, type Planted } from '../../bench/trust/incidents.ts';

const version = (agentVersion: string) => ({ agentVersion });

const explainIncident = (planted: Planted, seed: number) => {
  const { rows, truth } = drawIncident(planted, { seed });
  const runs = [...rows].map(({ period, facets, score }): Runs => [period, facets, 1, score]);
  return { truth, ...explainRuns(runs) };
};

describe('a change by the values of a dimension', () => {
  it('compares each value with its own past: one that was always lower is no cause', () => {
    const { dimensions, causes, mix } = explainRuns([
      ['before', { model: 'A' }, 700, 0.9],
      ['before', { model: 'B' }, 300, 0.6],
      ['after', { model: 'A' }, 700, 0.8],
      ['after', { model: 'B' }, 300, 0.6],
    ]);
    expect(dimensions[0]?.segments).toMatchObject([
      { value: 'A', share: expect.closeTo(1, 9) as number },
      { value: 'B', share: expect.closeTo(0, 9) as number },
    ]);
    expect(causes.map(({ segment }) => segment)).toEqual([{ model: 'A' }]);
    expect(mix).toBeCloseTo(0, 9);
  });

  it('is mix where only the traffic of a value grew', () => {
    const explained = explainRuns([
      ['before', { model: 'A' }, 700, 0.9],
      ['before', { model: 'B' }, 300, 0.6],
      ['after', { model: 'A' }, 700, 0.9],
      ['after', { model: 'B' }, 600, 0.6],
    ]);
    expect(explained).toMatchObject({ verdict: 'mix', within: expect.closeTo(0, 9) as number });
    expect(explained.causes[0]).toMatchObject({ segment: { model: 'B' }, kind: 'mix' });
    expect(explained.sentence).toMatch(/^−0\.05 in faithfulness: the mix of the traffic, .* model B/u);
  });

  it('lists the value that shrank where others took its traffic in equal parts', () => {
    const models = ['B', 'C', 'D', 'E'];
    const runs = (period: 'before' | 'after', ofA: number, ofOthers: number): Runs[] => [
      [period, { model: 'A' }, ofA, 0.9],
      ...models.map((model): Runs => [period, { model }, ofOthers, 0.6]),
    ];
    const { verdict, causes } = explainRuns([...runs('before', 600, 100), ...runs('after', 200, 200)]);
    expect(verdict).toBe('mix');
    expect(causes).toMatchObject([{ segment: { model: 'A' }, share: expect.closeTo(1, 6) as number }]);
  });

  it('blames a new version, whose past is that of the same traffic, as within', () => {
    const explained = explainRuns([
      ['before', { ...version('1'), tenant: 'a' }, 500, 0.9],
      ['before', { ...version('1'), tenant: 'b' }, 500, 0.5],
      ['after', { ...version('1'), tenant: 'a' }, 500, 0.9],
      ['after', { ...version('2'), tenant: 'b' }, 500, 0.3],
    ]);
    const [versions] = explained.dimensions;
    expect(versions?.segments[0]).toMatchObject({ value: '2', before: null, isNew: true });
    expect(versions?.segments[0]?.within).toBeCloseTo(-0.1, 2);
    expect(explained.causes[0]?.after).toBeCloseTo(0.3, 9);
  });

  it('expects of the traffic of a new version no mean beyond those that were measured', () => {
    const runs = (tenant: string, model: string, score: number): Runs => [
      'before',
      { ...version('1'), tenant, model },
      500,
      score,
    ];
    const { causes } = explainRuns([
      runs('a', 'A', 0.8),
      runs('b', 'A', 0.97),
      runs('a', 'B', 0.97),
      ['after', { ...version('2'), tenant: 'b', model: 'B' }, 1_500, 0.5],
    ]);
    expect(causes[0]).toMatchObject({ isNew: true, before: 0.97 });
  });

  it('names a version that replaced the earlier one, with what was deployed at once', () => {
    const runs = (period: 'before' | 'after', agentVersion: string, score: number): Runs => [
      period,
      { agentVersion, serviceVersion: `s${agentVersion}`, environment: 'production' },
      1_000,
      score,
    ];
    const { causes, sentence } = explainRuns([runs('before', '1', 0.9), runs('after', '2', 0.7)]);
    expect(causes).toMatchObject([
      {
        segment: { agentVersion: '2' },
        isNew: true,
        before: expect.closeTo(0.9, 3) as number,
        share: expect.closeTo(1, 2) as number,
      },
    ]);
    expect(causes[0]?.same).toEqual([{ serviceVersion: 's2' }]);
    expect(sentence).toBe(
      '−0.20 in faithfulness: 100 % within agent version 2 or service version s2 (new, 0.90 → 0.70), mix 0 %.',
    );
  });

  it.each([
    {
      rest: 'that are too few to tell',
      old: [2, 1],
      verdict: 'segment',
      causes: [{ segment: version('2'), isNew: true, before: expect.closeTo(0.9955, 4) as number }],
      // The traffic that the new version took over is no mix.
      sentence: '−0.16 in faithfulness: 87 % within agent version 2 (new, 1.00 → 0.83), mix 0 %.',
    },
    {
      rest: 'that fell, too',
      old: [0, 5],
      verdict: 'everywhere',
      causes: [],
      sentence: '−0.32 in faithfulness: everywhere (1.00 → 0.67), no segment moved further than the rest.',
    },
  ])('is $verdict for a new version beside old runs $rest', ({ old, verdict, causes, sentence }) => {
    const [good = 0, bad = 0] = old;
    const explained = explainRuns([
      ['before', version('1'), 110, 1],
      ['before', version('1'), 1, 0.5],
      ['after', version('2'), 14, 1],
      ['after', version('2'), 7, 0.5],
      ['after', version('1'), good, 1],
      ['after', version('1'), bad, good === 0 ? 0 : 0.5],
    ]);
    expect(explained.verdict).toBe(verdict);
    expect(explained.causes).toMatchObject(causes);
    expect(explained.sentence).toBe(sentence);
  });

  it('makes a dimension of each value of a list', () => {
    const tools = (period: 'before' | 'after', tool: string[], score: number): Runs => [
      period,
      { tool },
      400,
      score,
    ];
    const { dimensions, causes } = explainRuns([
      tools('before', ['search', 'book'], 0.9),
      tools('before', ['book'], 0.8),
      tools('after', ['search', 'book'], 0.6),
      tools('after', ['book'], 0.8),
    ]);
    const named = dimensions.flatMap(({ dimension, segments }) =>
      segments.map(({ value }) => `${dimension}:${value}`),
    );
    expect(named.toSorted()).toEqual(['tool:', 'tool:book', 'tool:search']);
    expect(causes[0]?.segment).toEqual({ tool: 'search' });
  });

  it('is none beyond chance, or everywhere, where no segment moved further than the rest', () => {
    const half = (score: number, period: 'before' | 'after'): Runs[] =>
      ['A', 'B'].flatMap((model): Runs[] => [
        [period, { model }, 200, score - 0.2],
        [period, { model }, 200, score + 0.2],
      ]);
    expect(explainRuns([...half(0.7, 'before'), ...half(0.7, 'after')])).toMatchObject({
      verdict: 'none',
      causes: [],
    });
    expect(explainRuns([...half(0.7, 'before'), ...half(0.6, 'after')])).toMatchObject({
      verdict: 'everywhere',
      causes: [],
    });
  });

  it('is not known where a period has no runs', () => {
    expect(explainRuns([['after', {}, 5, 0.5]])).toMatchObject({
      before: null,
      change: null,
      verdict: 'none',
    });
  });

  const anyRuns = fc.array(
    fc.tuple(
      fc.constantFrom('before' as const, 'after' as const),
      fc.record({
        a: fc.constantFrom('', 'x', 'y', 'z'),
        b: fc.constantFrom('1', '2'),
        tool: fc.subarray(['p', 'q', 'r']),
      }),
      fc.integer({ min: 1, max: 30 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
    ),
    { maxLength: 30 },
  );

  it('is the sum of within and mix in every dimension, with new and vanished values and lists', () => {
    fc.assert(
      fc.property(anyRuns, (runs) => {
        const { change, dimensions, within, mix } = explainRuns(runs);
        for (const each of [...dimensions, { within, mix, segments: [] }]) {
          expect(each.within + each.mix).toBeCloseTo(change ?? 0, 9);
        }
        for (const { segments, within: sum } of dimensions) {
          expect(segments.reduce((all, segment) => all + segment.within, 0)).toBeCloseTo(sum, 9);
          const parts = segments.map(({ before, after }) => [before?.part ?? 0, after?.part ?? 0]);
          expect(parts.reduce((all, [part = 0]) => all + part, 0)).toBeCloseTo(1, 9);
        }
      }),
    );
  });
});

describe('the first cause among ten dimensions with decoys', () => {
  it('is the part of a version that few runs had before the change, and not what comes along with it', () => {
    const { verdict, causes, truth } = explainIncident('unfinished deploy', 7_923);
    expect([verdict, causes[0]?.segment, causes[0]?.kind]).toEqual(['mix', truth, 'mix']);
    expect(causes.every(({ share }) => share > 0)).toBe(true);
  });

  it.each(['single', 'pair', 'new version', 'tool'] as const)('is the planted one: %s', (planted) => {
    const { causes, truth } = explainIncident(planted, 11);
    expect(causes[0]?.segment).toEqual(truth);
  });

  it.each(['mix', 'everywhere'] as const)('is none for a change of kind %s', (planted) => {
    const { verdict } = explainIncident(planted, 11);
    expect(verdict).toBe(planted);
  });
});
