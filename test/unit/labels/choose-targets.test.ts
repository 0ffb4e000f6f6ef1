import { expect, it } from 'vitest';
import { chooseTargets } from '../../../src/labels/read-queue.ts';

/** Builds targets of one stratum, with draws from a start in steps of a hundredth. */
function stratum(label: string, band: number, count: number, firstDraw = 0) {
  return Array.from({ length: count }, (_, index) => ({
    id: `${label}${band}-${index}`,
    label,
    band,
    draw: firstDraw + index / 100,
  }));
}

const idsOf = (targets: readonly { readonly id: string }[]) => targets.map(({ id }) => id);

it('takes from each stratum in turn, so that a rare verdict is not lost among frequent ones', () => {
  const chosen = chooseTargets([...stratum('ok', 4, 50), ...stratum('bad', 0, 2, 0.9)], 6);
  expect(idsOf(chosen)).toEqual(['ok4-0', 'bad0-0', 'ok4-1', 'bad0-1', 'ok4-2', 'ok4-3']);
});

it('tells bands of one label apart, and labels of one band', () => {
  const candidates = [...stratum('ok', 4, 9), ...stratum('ok', 3, 1, 0.5), ...stratum('bad', 4, 1, 0.7)];
  expect(idsOf(chooseTargets(candidates, 3))).toEqual(['ok4-0', 'ok3-0', 'bad4-0']);
});

it('orders the targets of a turn by their draw alone, so that the order does not tell the verdict', () => {
  const candidates = [...stratum('bad', 0, 1, 0.6), ...stratum('ok', 4, 1, 0.2), ...stratum('so', 2, 1, 0.4)];
  expect(idsOf(chooseTargets(candidates, 10))).toEqual(['ok4-0', 'so2-0', 'bad0-0']);
});

it('gives the first targets of a longer choice for a smaller limit', () => {
  const candidates = [...stratum('ok', 4, 20), ...stratum('bad', 0, 20, 0.3), ...stratum('bad', 1, 20, 0.1)];
  expect(chooseTargets(candidates, 7)).toEqual(chooseTargets(candidates, 30).slice(0, 7));
});

it('gives all targets when there are fewer than asked, and none of none', () => {
  expect(idsOf(chooseTargets(stratum('ok', 4, 2), 10))).toEqual(['ok4-0', 'ok4-1']);
  expect(chooseTargets([], 10)).toEqual([]);
});
