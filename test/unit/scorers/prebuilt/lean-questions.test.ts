import { describe, expect, it } from 'vitest';
import * as prebuilt from '../../../../src/scorers/prebuilt/index.ts';
import { createAgentTestRun, createTestMessage } from '../../../../src/scorers/shared/utils.ts';
import { JUDGED_CASES, buildRun } from '../../../support/builders/judged-cases.ts';
import { readFencedPrompt } from '../../../support/builders/fenced-prompt.ts';
import { modelObject } from '../../../support/builders/model-object.ts';
import { scriptedModel } from '../../../support/fakes/scripted-model.ts';
import type { ScriptedModelCall } from '../../../support/fakes/scripted-model.ts';

const run = createAgentTestRun({
  inputMessages: [createTestMessage({ role: 'user', content: 'Weather?' })],
  output: [createTestMessage({ role: 'assistant', content: 'It rains, you fool.' })],
});
/** Names of fields in which a judge says why, in the words of its instructions and in the form of its reply. */
const WHY = /\b(?:reason|reasoning|explanation|specificChanges|noiseInfluence|overallAssessment)\b/;

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly type?: string | readonly string[];
}

/** Lists the fields of each object of a schema, those of a decision (a word, a flag, a number of a scale) with a mark. */
function listForms({ properties, items }: Schema = {}): string[][] {
  const members = Object.entries(properties ?? {});
  const marked = members.map(([name, member]) =>
    member.enum !== undefined || ['boolean', 'number'].includes(String(member.type)) ? `!${name}` : name,
  );
  return [
    marked,
    ...[items, ...members.map(([, member]) => member)].flatMap((inner) =>
      inner === undefined ? [] : listForms(inner),
    ),
  ];
}

/** Reads what the author of the scorer wrote into a question. */
function readTask({ prompt }: ScriptedModelCall): string {
  return readFencedPrompt(prompt)?.task ?? '';
}

const bareCases = JUDGED_CASES.filter(({ name }) => name !== 'grounding');

describe('questions to the judge', () => {
  it.each(bareCases)('of $name ask for a reason only when the reason is used', async (judged) => {
    const asked = async (reason: 'template' | false): Promise<string[]> => {
      const { replies, explained = replies } = judged;
      const model = scriptedModel((reason === false ? replies : explained).map((json) => ({ json })));
      await judged.create(model, { reason }).run(buildRun());
      return model.calls.map(readTask);
    };
    expect((await asked('template')).some((task) => WHY.test(task))).toBe(true);
    expect((await asked(false)).filter((task) => WHY.test(task))).toEqual([]);
  });

  it.each(JUDGED_CASES)('of $name ask for the reason before the verdict', async (judged) => {
    const { replies, explained = replies } = judged;
    const model = modelObject((_call, count) => JSON.stringify(explained[count - 1]));
    await judged.create(model, { reason: 'template' }).run(buildRun());
    const forms = model.calls.flatMap(({ responseFormat }) => listForms(responseFormat?.schema as Schema));
    const late = forms.filter((form) =>
      form.some(
        (field, index) =>
          WHY.test(field) &&
          form.slice(0, index).some((before) => before.startsWith('!') && before !== '!quality'),
      ),
    );
    expect(late).toEqual([]);
    expect(forms.flat().some((field) => field.startsWith('!'))).toBe(true);
  });

  it('explain toxicity by reasons, with the passages of those that count', async () => {
    const verdicts = [
      { passage: 'you fool', verdict: 'yes', reason: 'an insult' },
      { passage: 'It rains', verdict: 'no', reason: 'plain weather' },
    ];
    const model = scriptedModel([{ json: { verdicts } }, { text: 'Because.' }]);
    await prebuilt.createToxicityScorer({ model }).run(run);
    const explanation = model.calls[1]?.prompt;
    expect(explanation).toContain('"passage":"you fool"');
    expect(explanation).toContain('plain weather');
    expect(explanation).not.toContain('It rains');
  });

  it('read toxic passages from two lists when no reason is needed', async () => {
    const model = scriptedModel([{ json: { toxic: ['you fool', ' '], fair: ['It rains', 'you'] } }]);
    const scorer = prebuilt.createToxicityScorer({ model, options: { reason: false } });
    expect(await scorer.run(run)).toMatchObject({
      score: 0.33,
      analyzeStepResult: {
        verdicts: [
          { passage: 'you fool', verdict: 'toxic', reason: '' },
          { passage: 'It rains', verdict: 'clean', reason: '' },
          { passage: 'you', verdict: 'clean', reason: '' },
        ],
      },
    });
    expect(model.calls).toHaveLength(1);
  });
});
