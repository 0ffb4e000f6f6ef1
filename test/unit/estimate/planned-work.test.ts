import { expect, it } from 'vitest';
import { MOST_RENDERED, PlannedWork } from '../../../src/estimate/planned-work.ts';
import { prepareRule } from '../../../src/scoring/select/rule.ts';
import { buildRule, judged } from '../../support/scoring/scoring-world.ts';

const [a, b] = prepareRule(buildRule([judged('a'), judged('b')])).scorers.map((scorer) => ({
  rule: 'r',
  title: 'r',
  scorer,
}));
const names = Array.from({ length: 500 }, (_, n) => `trace ${n}`);

function plan(order: readonly string[]) {
  const work = new PlannedWork<string>();
  order.forEach((name) => work.add(name, name, name.endsWith('7') ? [a!, b!] : [a!]));
  return work;
}

it('counts all targets, and keeps the same sample whatever their order is', () => {
  const work = plan(names);
  const [first, second] = work.list();
  expect(work.targets).toBe(500);
  expect([first?.count, second?.count]).toEqual([500, 50]);
  expect([first?.sample.size, second?.sample.size]).toEqual([MOST_RENDERED, 50]);
  const reversed = plan(names.toReversed())
    .list()
    .find(({ scorer }) => scorer.name === 'a');
  expect([...(reversed?.sample.keys() ?? [])]).toEqual([...(first?.sample.keys() ?? [])]);
});

it('shares the targets of its samples between scorers', () => {
  const [first, second] = plan(names).list();
  const shared = [...(first?.sample.keys() ?? [])].filter((name) => name.endsWith('7'));
  expect(shared.length).toBeGreaterThan(0);
  expect(shared.every((name) => second?.sample.has(name))).toBe(true);
});

it('leaves out targets without work', () => {
  const work = new PlannedWork<string>();
  work.add('x', 'x', []);
  expect([work.targets, work.list()]).toEqual([0, []]);
});
