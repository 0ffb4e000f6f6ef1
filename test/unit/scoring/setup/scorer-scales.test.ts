import { expect, it } from 'vitest';
import { parseConfig } from '../../../../src/configuration.ts';
import { createScaleReader } from '../../../../src/scoring/setup/scorer-names.ts';
import { PREBUILT_SCORERS } from '../../../../src/components.ts';
import type { Scale } from '../../../../src/domain/agreement/directed-score.ts';

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
