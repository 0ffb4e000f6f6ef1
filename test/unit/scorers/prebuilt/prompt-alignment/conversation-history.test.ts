import { describe, expect, it } from 'vitest';
import { createPromptAlignmentScorerLLM } from '../../../../../src/scorers/prebuilt/index.ts';
import { createAgentTestRun, createTestMessage } from '../../../../../src/scorers/shared/utils.ts';
import { scriptedModel } from '../../../../support/fakes/scripted-model.ts';

type History = boolean | { maxMessages?: number };

const said = Array.from({ length: 12 }, (_, index) =>
  createTestMessage({ role: 'user', content: `message ${index + 1};` }),
);
const run = createAgentTestRun({
  inputMessages: [createTestMessage({ role: 'user', content: 'yes' })],
  rememberedMessages: said,
  output: [createTestMessage({ role: 'assistant', content: 'Done.' })],
});

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
