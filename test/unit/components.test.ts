import { describe, expect, it } from 'vitest';
import { PREBUILT_SCORERS } from '../../src/components.ts';

const judge = 'openai/gpt-5-mini';
const judged = PREBUILT_SCORERS.filter(({ needsJudge }) => needsJudge);

/** Required options of scorers in a rule. */
const NEEDED: Record<string, Record<string, unknown>> = {
  rubric: { criteria: '- names a source' },
  'multi-turn-judge': { criterion: 'stays polite' },
  'tool-call-accuracy-llm': { availableTools: [{ id: 'weather', description: 'Tells the weather' }] },
};

describe('judged scorers that rules can name', () => {
  it.each(judged.map(({ name }) => name))(
    '%s is made with a judge, and tells all that a score row needs',
    async (name) => {
      const scorer = await judged
        .find((entry) => entry.name === name)
        ?.create({ judge, options: { ...NEEDED[name], reason: false } });
      expect(scorer).toMatchObject({ judgeModel: judge, promptVersion: expect.stringMatching(/\d/) });
      expect(scorer?.version).not.toBe('');
    },
  );

  it.each(Object.keys(NEEDED))('%s is refused without the option that it cannot do without', async (name) => {
    const entry = judged.find((candidate) => candidate.name === name);
    await expect(entry?.create({ judge, options: {} })).rejects.toThrow(`${name} needs options.`);
  });

  it.each(judged.map(({ name }) => name))('%s refuses options that it does not know', async (name) => {
    const entry = judged.find((candidate) => candidate.name === name);
    const making = entry?.create({ judge, options: { ...NEEDED[name], sclae: 1 } });
    await expect(making).rejects.toThrow(/sclae is unknown/);
  });

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
