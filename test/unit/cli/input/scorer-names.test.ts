import { describe, expect, it } from 'vitest';
import { requireScorers, listRowNames } from '../../../../src/cli/input/scorer-names.ts';
import { chooseExitCode } from '../../../../src/cli/exit-codes.ts';
import { PREBUILT_SCORERS } from '../../../../src/components.ts';
import { parseConfig } from '../../../../src/app/config/index.ts';
import { listScores } from '../../../../src/scorers/prebuilt/grounding/grounding-table.ts';

const config = parseConfig({ scorers: { 'grounding-strict': { use: 'grounding' } }, rules: [] });
const stored = (...names: string[]) => ({ scorerNames: async () => names });

describe('names of scorers', () => {
  it('of a filter mean every row of a scorer that writes several, stored or not', async () => {
    expect(await listRowNames('grounding', config, stored('grounding-later', 'grounding-strict'))).toEqual([
      'grounding',
      'grounding-hallucination',
      'grounding-faithfulness',
      'grounding-citation-precision',
      'grounding-later',
    ]);
    expect(
      await listRowNames('grounding-strict', config, stored('grounding-strict/grounding-faithfulness')),
    ).toEqual(['grounding-strict', 'grounding-strict/grounding-faithfulness']);
    expect(await listRowNames('grounding-faithfulness', config, stored())).toEqual([
      'grounding-faithfulness',
    ]);
  });

  it('are known when they are stored from an earlier configuration', async () => {
    expect(await listRowNames('retired', config, stored('retired'))).toEqual(['retired']);
  });

  it('that are unknown are wrong usage, with the nearest name', async () => {
    const refused = listRowNames('halucination', config, stored());
    await expect(refused).rejects.toThrow('there is no scorer halucination; did you mean hallucination?');
    expect(chooseExitCode(await refused.catch((error: unknown) => error))).toBe(2);
    expect(() => requireScorers(['tone', 'ton'], config)).toThrow(
      'there is no scorer ton; did you mean tone?',
    );
    expect(() => requireScorers(['retired'], config)).toThrow('there is no scorer retired; the scorers are ');
  });

  it('declared for the rows of grounding are those that it writes', () => {
    const quotes = [{ source: 1, quote: 'rain', found: true }];
    const sentence = { sentence: 'It rains.', verdict: 'supported', reason: '', quotes } as const;
    const written = listScores([sentence], true).map(({ name }) => name);
    expect(PREBUILT_SCORERS.find(({ name }) => name === 'grounding')?.rows).toEqual(written);
  });
});
