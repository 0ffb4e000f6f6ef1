import { describe, expect, it } from 'vitest';
import { alignmentSchema } from '../../../../../src/scorers/prebuilt/prompt-alignment.ts';
import { whyFields } from '../../../../../src/scorers/shared/judged.ts';
import { JUDGED_CASES } from '../../../../support/builders/judged-cases.ts';

const [honest] = JUDGED_CASES.find(({ name }) => name === 'prompt-alignment')?.replies ?? [];
const explained = alignmentSchema(whyFields('judge'));
const bare = alignmentSchema(whyFields(false));

/** Analysis with counted parts and no explanation. */
const COUNTED = {
  intentAlignment: { score: 1 },
  requirementsFulfillment: {
    requirements: [{ requirement: 'temperature', isFulfilled: true }],
    overallScore: 1,
  },
  completeness: { score: 0.5 },
  responseAppropriateness: { score: 1 },
};

describe('a reply on prompt alignment', () => {
  it('is taken with scores from 0 to 1', () => {
    expect(explained.validate?.(honest)).toMatchObject({ ok: true });
  });

  it.each([1.5, -0.1, null])('is malformed with a score of %s, which no range could hold', (score) => {
    const intentAlignment = { score, primaryIntent: 'p', isAddressed: true, reasoning: 'r' };
    expect(explained.validate?.({ ...honest, intentAlignment })).toEqual({
      ok: false,
      fault: `"intentAlignment.score" is ${score}; give a number from 0 to 1`,
    });
  });

  it('needs the parts of an explanation only when an explanation is requested', () => {
    expect(explained.validate?.(COUNTED)).toMatchObject({ ok: false });
    expect(bare.validate?.(COUNTED)).toEqual({
      ok: true,
      value: {
        intentAlignment: { score: 1, primaryIntent: '', reasoning: '' },
        requirementsFulfillment: {
          requirements: [{ requirement: 'temperature', isFulfilled: true, reasoning: '' }],
          overallScore: 1,
        },
        completeness: { score: 0.5, missingElements: [], reasoning: '' },
        responseAppropriateness: { score: 1, reasoning: '' },
        overallAssessment: '',
      },
    });
  });

  it('may tell why unasked', () => {
    expect(bare.validate?.(honest)).toEqual(explained.validate?.(honest));
  });
});
