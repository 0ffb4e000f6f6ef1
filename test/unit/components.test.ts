import { describe, expect, it } from 'vitest';
import { PREBUILT_SCORERS } from '../../src/components.ts';

const judge = 'openai/gpt-5-mini';
const judged = PREBUILT_SCORERS.filter(({ needsJudge }) => needsJudge);

describe('judged scorers that rules can name', () => {
  it.each(['context-precision', 'context-relevance'])(
    '%s takes the context of the run by default',
    async (name) => {
      const scorer = await judged.find((entry) => entry.name === name)?.create({ judge, options: {} });
      const message = (role: string) => ({
        id: '1',
        role,
        createdAt: new Date(0),
        content: { format: 2, parts: [] },
      });
      const input = {
        inputMessages: [message('user')],
        rememberedMessages: [],
        systemMessages: [],
        taggedSystemMessages: {},
      };
      const result = await scorer?.run({ input, output: [message('assistant')] });
      expect(result?.notScorable?.reason).toMatch(/no context/);
    },
  );
});
