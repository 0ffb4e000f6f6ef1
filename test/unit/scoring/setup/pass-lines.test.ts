import { expect, test } from 'vitest';
import { parseConfig } from '../../../../src/configuration.ts';
import { createPassLineFinder } from '../../../../src/scoring/setup/scorer-names.ts';
import { isPassing } from '../../../../src/domain/agreement/directed-score.ts';
import { buildRule } from '../../../support/scoring/scoring-world.ts';
import { prepareRule } from '../../../../src/scoring/select/rule.ts';

/** File that exists; it is not loaded. */
const MODULE = import.meta.filename;

const ours = {
  id: 'ours',
  higherIsBetter: false,
  range: [0, 10] as const,
  labels: [{ label: 'short', below: 3 }, { label: 'long' }],
  run: async () => ({ score: 1 }),
};

const config = parseConfig({
  scorers: {
    ours: { module: MODULE },
    barred: { module: MODULE, failBelow: 0.8 },
    strict: { use: 'grounding' },
    asked: { use: 'rubric', options: { criteria: 'It is kind.' } },
    scaled: { use: 'faithfulness', options: { scale: 10 } },
  },
});

/** Finds pass lines beside a process that has loaded the module `ours`. */
const findPassLine = createPassLineFinder(config, [prepareRule(buildRule([ours]))]);

test.each([
  ['hallucination', 'the label "hallucinated"', { passes: 1, fails: 0.99 }],
  ['toxicity', 'the label "toxic"', { passes: 1, fails: 0.99 }],
  ['scaled', 'the label "unfaithful"', { passes: 1, fails: 0.99 }],
  ['keyword-coverage', 'the label "missing"', { passes: 0.5, fails: 0.49 }],
  ['asked', 'the label "fail"', { passes: 0.01, fails: 0 }],
  ['strict/grounding-faithfulness', 'the label "unfaithful"', { passes: 1, fails: 0.99 }],
  ['panel-toxicity', 'the label "toxic"', { passes: 1, fails: 0.99 }],
  ['ours', 'the label "long" of a module', { passes: 0.71, fails: 0.7 }],
  ['barred', 'the bar of its entry', { passes: 0.8, fails: 0.79 }],
  ['barred/detail', 'the bar of its entry', { passes: 0.8, fails: 0.79 }],
  ['behaviour-answered', 'the better half', { passes: 0.5, fails: 0.49 }],
  ['former', 'the better half', { passes: 0.5, fails: 0.49 }],
])('a score of %s passes by %s', async (row, _by, { passes, fails }) => {
  const line = await findPassLine(row);
  expect([isPassing(passes, line), isPassing(fails, line)]).toEqual([true, false]);
});
