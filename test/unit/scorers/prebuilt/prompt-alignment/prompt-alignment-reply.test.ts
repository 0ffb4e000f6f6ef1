import { describe, expect, it } from 'vitest';
import { ALIGNMENT_SCHEMA } from '../../../../../src/scorers/prebuilt/prompt-alignment/prompt-alignment-reply.ts';
import { JUDGED_CASES } from '../../../../support/judged-cases.ts';

const [honest] = JUDGED_CASES.find(({ name }) => name === 'prompt-alignment')?.replies ?? [];

describe('a reply on prompt alignment', () => {
  it('is taken with scores from 0 to 1', () => {
    expect(ALIGNMENT_SCHEMA.validate?.(honest)).toMatchObject({ ok: true });
  });

  it.each([1.5, -0.1, null])('is malformed with a score of %s, which no range could hold', (score) => {
    const intentAlignment = { score, primaryIntent: 'p', isAddressed: true, reasoning: 'r' };
    expect(ALIGNMENT_SCHEMA.validate?.({ ...honest, intentAlignment })).toEqual({
      ok: false,
      fault: `"intentAlignment.score" is ${score}; give a number from 0 to 1`,
    });
  });
});
