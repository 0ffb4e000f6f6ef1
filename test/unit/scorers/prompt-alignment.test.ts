import { describe, expect, it } from 'vitest';
import { createPromptAlignmentScorerLLM } from '../../../src/scorers/prebuilt/index.ts';
import { createTestMessage } from '../../../src/scorers/shared/utils.ts';
import { scriptedModel } from '../../support/fakes/scripted-model.ts';
import { alignmentForm } from '../../../src/scorers/prebuilt/prompt-alignment.ts';
import { whyFields } from '../../../src/scorers/shared/judged.ts';
import { JUDGED_CASES } from '../../support/builders/judged-cases.ts';
import { answeredRun } from '../../support/builders/answered-run.ts';

type History = boolean | { maxMessages?: number };

const said = Array.from({ length: 12 }, (_, index) =>
  createTestMessage({ role: 'user', content: `message ${index + 1};` }),
);
const run = answeredRun('yes', 'Done.', { rememberedMessages: said });

/** The remembered messages that the judge was shown, by number. */
async function shown(includeConversationHistory: History): Promise<number[]> {
  const model = scriptedModel([]);
  const scorer = createPromptAlignmentScorerLLM({ model, options: { includeConversationHistory } });
  await scorer.run(run).catch(() => undefined);
  const prompt = model.calls[0]?.prompt ?? '';
  return said.flatMap((_, index) => (prompt.includes(`message ${index + 1};`) ? [index + 1] : []));
}

describe('the conversation that the judge of prompt alignment sees', () => {
  it.each<[History, number[]]>([
    [false, []],
    [true, [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
    [{}, [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
    [{ maxMessages: 2 }, [11, 12]],
    [{ maxMessages: 0 }, []],
  ])('with %j are the messages %j', async (history, messages) => {
    expect(await shown(history)).toEqual(messages);
  });

  it.each([{ maxMessages: -1 }, { maxMessages: 1.5 }, { maxMessages: '2' }, { messages: 2 }, 2, 'all'])(
    'is not %j',
    (history) => {
      expect(() =>
        createPromptAlignmentScorerLLM({
          model: scriptedModel([]),
          options: { includeConversationHistory: history as History },
        }),
      ).toThrow(/options\.includeConversationHistory .* it must be true, false or \{ maxMessages/);
    },
  );
});

const [honest] = JUDGED_CASES.find(({ name }) => name === 'prompt-alignment')?.replies ?? [];
const explained = alignmentForm(whyFields('judge'));
const bare = alignmentForm(whyFields(false));

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
