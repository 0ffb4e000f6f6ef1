import { expect, it } from 'vitest';
import { chooseTargets } from '../../../src/labels/read-queue.ts';

/** Builds targets of one verdict, with draws from a start in steps of a hundredth. */
function stratum(passes: boolean, count: number, firstDraw = 0) {
  return Array.from({ length: count }, (_, index) => ({
    id: `${passes ? 'pass' : 'fail'}-${index}`,
    passes,
    draw: firstDraw + index / 100,
  }));
}

const idsOf = (targets: readonly { readonly id: string }[]) => targets.map(({ id }) => id);

it('takes from each verdict its part, so that a rare one is not lost among frequent ones', () => {
  const chosen = chooseTargets([...stratum(true, 50), ...stratum(false, 40)], { limit: 20, part: 0.7 });
  expect(chosen.filter(({ passes }) => passes)).toHaveLength(14);
  const all = chooseTargets([...stratum(true, 50), ...stratum(false, 40)], { limit: 20, part: 1 });
  expect(all.filter(({ passes }) => passes)).toHaveLength(18);
});

it('orders targets by their draw within a turn, so that the order does not tell the verdict', () => {
  const half = { limit: 10, part: 0.5 };
  expect(idsOf(chooseTargets([...stratum(true, 1, 0.6), ...stratum(false, 1, 0.2)], half))).toEqual([
    'fail-0',
    'pass-0',
  ]);
  expect(idsOf(chooseTargets([...stratum(true, 1, 0.2), ...stratum(false, 1, 0.6)], half))).toEqual([
    'pass-0',
    'fail-0',
  ]);
});

it('gives the first targets of a longer choice for a smaller limit', () => {
  const candidates = [...stratum(true, 20), ...stratum(false, 20, 0.3)];
  const choose = (limit: number) => chooseTargets(candidates, { limit, part: 0.4 });
  expect(choose(7)).toEqual(choose(30).slice(0, 7));
});

it('gives all targets when there are fewer than asked, and none of none', () => {
  expect(idsOf(chooseTargets(stratum(true, 2), { limit: 10, part: 0.5 }))).toEqual(['pass-0', 'pass-1']);
  expect(chooseTargets([], { limit: 10, part: 0.5 })).toEqual([]);
});
