import { describe, expect, it } from 'vitest';
import { requireScorers, listRowNames } from '../../../../src/cli/input/names.ts';
import { chooseExitCode } from '../../../../src/cli/exit-codes.ts';
import { PREBUILT_SCORERS } from '../../../../src/components.ts';
import { parseConfig } from '../../../../src/configuration.ts';
import { buildRun, JUDGED_CASES, type JudgedCase } from '../../../support/builders/judged-cases.ts';
import { scriptedModel } from '../../../support/fakes/scripted-model.ts';

const config = parseConfig({ scorers: { 'grounding-strict': { use: 'grounding' } }, rules: [] });
const stored = (...names: string[]) => ({ scorerNames: async () => names });

describe('names of scorers', () => {
  it('of a filter mean every row of a scorer that writes several, stored or not', async () => {
    expect(await listRowNames(['grounding'], config, stored('grounding-later', 'grounding-strict'))).toEqual([
      'grounding',
      'grounding-hallucination',
      'grounding-faithfulness',
      'grounding-citation-precision',
      'grounding-later',
    ]);
    expect(
      await listRowNames(['grounding-strict'], config, stored('grounding-strict/grounding-faithfulness')),
    ).toEqual(['grounding-strict', 'grounding-strict/grounding-faithfulness']);
    expect((await listRowNames(['panel'], config, stored('panel-grounding', 'panel-later'))).length).toBe(7);
    expect(await listRowNames(['grounding-faithfulness'], config, stored())).toEqual([
      'grounding-faithfulness',
    ]);
  });

  it('do not mean the rows of another scorer whose name begins like theirs', async () => {
    const others = parseConfig({ scorers: { 'tone-of-voice': { use: 'tone' } }, rules: [] });
    const store = stored('tone-of-voice', 'tone-of-voice/warmth', 'tone/extra');
    expect(await listRowNames(['tone'], others, store)).toEqual(['tone', 'tone/extra']);
  });

  it('are known when they are stored from an earlier configuration', async () => {
    expect(await listRowNames(['retired'], config, stored('retired'))).toEqual(['retired']);
  });

  it('that are unknown are wrong usage, with the nearest name', async () => {
    const refused = listRowNames(['halucination'], config, stored());
    await expect(refused).rejects.toThrow('there is no scorer halucination; did you mean hallucination?');
    expect(chooseExitCode(await refused.catch((error: unknown) => error))).toBe(2);
    expect(() => requireScorers(['tone', 'ton'], config)).toThrow(
      'there is no scorer ton; did you mean tone?',
    );
    expect(() => requireScorers(['retired'], config)).toThrow('there is no scorer retired; the scorers are ');
  });

  it.each(PREBUILT_SCORERS.filter(({ rows, needsJudge }) => needsJudge && rows !== undefined))(
    'declared for the rows of $name are those that it writes',
    async ({ name, rows }) => {
      const judged = JUDGED_CASES.find((candidate) => candidate.name === name) as JudgedCase;
      const model = scriptedModel(judged.replies.map((json) => ({ json })));
      const { scores = [] } = await judged.create(model).run(buildRun());
      expect(scores.map((score) => score.name)).toEqual(rows);
    },
  );
});
