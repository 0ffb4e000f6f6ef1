import { PREBUILT_SCORERS } from '../../../../src/components.ts';
import { parseConfig } from '../../../../src/configuration.ts';
import { type Scale, isPassing } from '../../../../src/domain/agreement/directed-score.ts';
import { prepareRule } from '../../../../src/scoring/select/rule.ts';
import { createScaleReader, createPassLineFinder } from '../../../../src/scoring/setup/scorer-names.ts';
import { buildRule } from '../../../support/scoring/scoring-world.ts';
import { expect, it, test } from 'vitest';

const CONFIG = parseConfig({
  scorers: {
    wide: { use: 'toxicity', options: { scale: 10 } },
    directed: { module: import.meta.filename, higherIsBetter: false },
    declared: { module: import.meta.filename, higherIsBetter: true, range: [1, 5] },
    broken: { use: 'rubric', higherIsBetter: true },
  },
});

/** Reads scales where some scores are stored. Returns them with the names that the store was asked for. */
async function readScales(names: readonly string[], stored: Readonly<Record<string, Scale>> = {}) {
  const asked: string[] = [];
  const read = createScaleReader(CONFIG, {
    scales: async ({ scorers }) => {
      asked.push(...scorers);
      return new Map(Object.entries(stored));
    },
  });
  return { scales: Object.fromEntries(await read(names, [''])), asked };
}

it('a prebuilt scorer, a variant of one and an entry with a scale need no stored score', async () => {
  const { scales, asked } = await readScales(['hallucination', 'tone', 'wide', 'declared']);
  expect(asked).toEqual([]);
  expect(scales).toEqual({
    hallucination: { scoreMin: 0, scoreMax: 1, higherIsBetter: false },
    tone: { scoreMin: 0, scoreMax: 1, higherIsBetter: true },
    wide: { scoreMin: 0, scoreMax: 10, higherIsBetter: false },
    declared: { scoreMin: 1, scoreMax: 5, higherIsBetter: true },
  });
});

it('stored scores tell what the configuration does not', async () => {
  const stored = { scoreMin: 2, scoreMax: 8, higherIsBetter: true };
  const rows = { directed: stored, 'grounding-faithfulness': stored };
  const { scales } = await readScales(['directed', 'grounding-faithfulness', 'nps'], rows);
  expect(scales).toEqual({
    directed: { ...stored, higherIsBetter: false },
    'grounding-faithfulness': stored,
  });
});

it('a scorer that cannot be created has the scale of its entry alone', async () => {
  expect((await readScales(['broken'])).scales).toEqual({
    broken: { scoreMin: null, scoreMax: null, higherIsBetter: true },
  });
});

it('every prebuilt scorer with one row and without needed options has a scale by its name', async () => {
  const plain = PREBUILT_SCORERS.filter(
    (scorer) => scorer.rows === undefined && scorer.findOptionFault({}) === undefined,
  );
  const { asked } = await readScales(plain.map(({ name }) => name));
  expect(plain.length).toBeGreaterThan(10);
  expect(asked).toEqual([]);
});

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
