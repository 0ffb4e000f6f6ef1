import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../../src/configuration.ts';
import { RequestError } from '../../../../src/domain/errors.ts';
import { collectBars, createBarCheck } from '../../../../src/cli/input/score-bars.ts';
import { aScore } from '../../../support/builders/a-score.ts';

const config = parseConfig({ rules: [] });
const unit = { scoreMin: 0, scoreMax: 1 };

describe('a bar', () => {
  it('is met by a mean at the bar, whichever scores are below', () => {
    const check = createBarCheck(collectBars('tone=0.6'), config);
    const tone = { scorer: 'tone', higherIsBetter: true, ...unit };

    check.add([aScore({ ...tone, score: 0.2 }), aScore({ ...tone, score: 1 })]);

    expect(check.listFaults()).toEqual([]);
  });

  it('of a scorer whose lower scores are better counts from its best score', () => {
    const check = createBarCheck(collectBars('hallucination=0.9'), config);

    check.add([aScore({ scorer: 'hallucination', higherIsBetter: false, ...unit, score: 0.25 })]);

    expect(check.listFaults()).toEqual([
      'hallucination is below its bar of 0.9: the mean of 1 score is 0.750 (0 is worst, 1 is best)',
    ]);
  });

  it('of a scorer that writes several scores holds for each of them', () => {
    const check = createBarCheck(collectBars('grounding=0.5'), config);
    const rows = ['grounding-faithfulness', 'grounding-hallucination', 'grounding-citation-precision'];

    check.add(
      rows.map((scorer, index) => aScore({ scorer, higherIsBetter: true, ...unit, score: index / 2 })),
    );

    expect(check.listFaults()).toEqual([expect.stringMatching(/^grounding-faithfulness is below its bar/)]);
  });

  it('is not met without a score', () => {
    expect(createBarCheck(collectBars('tone=0'), config).listFaults()).toEqual([
      'tone has no score, so its bar of 0 is not met',
    ]);
  });

  it('of an unknown scorer is a mistake that names the nearest one', () => {
    expect(() => createBarCheck(collectBars('tonne=0.5'), config)).toThrow(RequestError);
    expect(() => createBarCheck(collectBars('tonne=0.5'), config)).toThrow(/tone/);
  });

  it.each(['tone', 'tone=', '=0.5', 'tone=high', 'tone=1.5', 'tone=-1', 'tone=NaN'])('is not %j', (text) => {
    expect(() => collectBars(text)).toThrow(/Write a scorer and a bar from 0/);
  });
});
