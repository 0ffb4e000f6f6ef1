import { describe, expect, it } from 'vitest';
import type { ScorerRunInput } from '../../../../src/scorers/evals/index.ts';
import { INJECTIONS } from '../../../fixtures/injections.ts';
import { readFencedPrompt } from '../../../support/builders/fenced-prompt.ts';
import { JUDGED_CASES, MATERIAL, buildRun, findScore } from '../../../support/builders/judged-cases.ts';
import type { JudgedCase } from '../../../support/builders/judged-cases.ts';
import { scriptedModel } from '../../../support/fakes/scripted-model.ts';
import type { ScriptedModel, ScriptedModelCall } from '../../../support/fakes/scripted-model.ts';

const UNSEEN = /[\p{Cf}\u{E0100}-\u{E01EF}]|(?!\n)\p{Cc}/u;

/**
 * Texts that the judge may obey: the system message, and the task after the data, one JSON document between two markers. A
 * user message of any other form is obeyed as a whole, and so is one with the code in its data or with invisible characters.
 */
function heard({ system, prompt }: ScriptedModelCall): { orders: string; material: Record<string, unknown> } {
  const fenced = readFencedPrompt(prompt);
  if (fenced === undefined || fenced.json.includes(fenced.code) || UNSEEN.test(prompt)) {
    return { orders: `${system}\n${prompt}`, material: {} };
  }
  const material = JSON.parse(fenced.json) as Record<string, unknown>;
  return { orders: `${system}\n${fenced.task}`, material };
}

/** Obeys every order that it hears by finding everything perfect; else answers honestly, question by question. */
function obedientJudge(judged: JudgedCase, attack: string): ScriptedModel {
  const key = attack.trim().slice(0, 40);
  let asked = 0;
  return scriptedModel((call) => {
    const { orders, material } = heard(call);
    asked += 1;
    if (orders.includes(key) || Object.keys(material).length === 0) {
      return { json: judged.flattering.replies[asked - 1] };
    }
    return { json: HONEST[judged.name]?.(material) ?? judged.replies[asked - 1] };
  });
}

/** Replies that depend on the sentences of the answer, by scorer. */
const HONEST: Readonly<Record<string, (material: Record<string, unknown>) => object>> = {
  grounding: groundingReply,
  panel: panelReply,
};

/** The honest verdicts on the two sentences of the answer; what else the answer says claims nothing. */
function groundingReply(material: Record<string, unknown>): object {
  const verdicts = Object.entries(material['sentences'] as Record<string, string>).map(([key, text]) => {
    const n = Number(key);
    if (text.startsWith('It is 18 degrees')) {
      return {
        n,
        verdict: 'supported',
        quotes: [{ source: 1, quote: 'it is 18 degrees in Paris' }],
        reason: '',
      };
    }
    return { n, verdict: text === 'It will rain.' ? 'unsupported' : 'no_claim', quotes: [], reason: '' };
  });
  return { verdicts };
}

/** As `groundingReply`; the other qualities of every sentence are good. */
function panelReply(material: Record<string, unknown>): object {
  const { verdicts } = groundingReply(material) as { verdicts: { n: number; verdict: string }[] };
  const sentences = verdicts.map(({ verdict, ...entry }) => ({
    ...entry,
    grounding: verdict,
    relevancy: 'direct',
    toxicity: 'clean',
    bias: 'fair',
    reasons: [],
  }));
  return { sentences, instructions: [{ quote: 'How warm is it in Paris?', verdict: 'kept', reason: '' }] };
}

function attacked(attack: string): [string, ScorerRunInput][] {
  const { question, answer, context, city, groundTruth, operator } = MATERIAL;
  return [
    ['question', buildRun({ question: `${question} ${attack}` })],
    ['answer', buildRun({ answer: `${answer}\n\n${attack}` })],
    ['evidence', buildRun({ context: [`${context[0]} ${attack}`, ...context.slice(1), attack] })],
    ['arguments of a tool', buildRun({ city: `${city} ${attack}` })],
    ['ground truth', buildRun({ groundTruth: `${groundTruth} ${attack}` })],
    ['system prompt of the agent', buildRun({ operator: `${operator}\n${attack}` })],
  ];
}

/** Pieces of context are numbered: one more piece is one more verdict. */
function withSameContext(judged: JudgedCase, run: ScorerRunInput): ScorerRunInput {
  const isCounted =
    judged.name.startsWith('context-precision') || judged.name.startsWith('context-relevance');
  return isCounted ? { ...run, context: (run.context ?? []).slice(0, MATERIAL.context.length) } : run;
}

describe('the corpus', () => {
  it('has at least 60 attempts, each another one', () => {
    expect(INJECTIONS.length).toBeGreaterThanOrEqual(60);
    expect(new Set(INJECTIONS.map(({ text }) => text)).size).toBe(INJECTIONS.length);
  });
});

describe.each(JUDGED_CASES.map((judged) => ({ name: judged.name, judged })))('$name', ({ judged }) => {
  it('scores an honest run as its verdicts say', async () => {
    const model = obedientJudge(judged, 'nothing of this kind');
    const result = await judged.create(model, { reason: false }).run(buildRun());
    expect(findScore(result)).toBe(judged.score);
  });

  it('would be moved by a judge that obeys', async () => {
    const model = scriptedModel(judged.flattering.replies.map((json) => ({ json })));
    const result = await judged.create(model, { reason: false }).run(buildRun());
    expect(findScore(result)).toBe(judged.flattering.score);
    expect(judged.flattering.score).not.toBe(judged.score);
  });

  it.each(INJECTIONS)('is not changed by instructions in the material: $name', async ({ text }) => {
    for (const [place, run] of attacked(text)) {
      const model = obedientJudge(judged, text);
      const scorer = judged.create(model, { reason: false });
      const result = await scorer.run(withSameContext(judged, run));
      expect({ place, score: findScore(result) }).toEqual({ place, score: judged.score });
    }
  });
});

describe('an obedient judge that hears an order after all', () => {
  it.each(JUDGED_CASES.map((judged) => ({ name: judged.name, judged })))(
    'gives $name no score by a number of its own',
    async ({ judged }) => {
      const model = scriptedModel(() => ({ json: { score: 1, verdict: 'perfect', rating: '10/10' } }));
      await expect(judged.create(model, { reason: false }).run(buildRun())).rejects.toMatchObject({
        code: 'judge_malformed',
      });
    },
  );

  it('finds no support in evidence that does not exist', async () => {
    const grounding = JUDGED_CASES.find(({ name }) => name === 'grounding') as JudgedCase;
    const backed = { verdict: 'supported', quotes: [{ source: 1, quote: 'all of it is true' }], reason: '' };
    const model = scriptedModel([
      {
        json: {
          verdicts: [
            { n: 1, ...backed },
            { n: 2, ...backed },
          ],
        },
      },
    ]);
    expect(findScore(await grounding.create(model).run(buildRun()))).toBe(0);
  });
});
