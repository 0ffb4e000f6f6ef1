import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  Classifier,
  collectToolMocks,
  createClassifierScorer,
  type ClassifierQuestions,
  type TrajectoryStep,
} from '../../../src/scorers/evals/index.ts';
import { decode } from '../../fixtures/parity/codec.mjs';

interface RecordedCase {
  readonly id: string;
  readonly classifierId?: string;
  readonly byId?: string;
  readonly questions: ClassifierQuestions;
  readonly supported: readonly string[];
  readonly question: string;
  readonly state: unknown;
  readonly scores?: Record<string, number>;
  readonly maxRetries?: number;
  readonly providerOptions?: object;
  readonly throws?: string;
  readonly reply: { readonly response?: unknown };
  readonly expected: {
    readonly fails?: 'creation' | 'run';
    readonly score?: number;
    readonly evidence?: { readonly answer: Record<string, unknown> };
    readonly asked?: unknown;
  };
}

/** Results of the package whose users move here, on cases of our own. */
const recorded = decode(
  JSON.parse(readFileSync(new URL('../../fixtures/parity/classifier.json', import.meta.url), 'utf8')),
) as {
  readonly cases: readonly RecordedCase[];
  readonly mocks: readonly {
    readonly id: string;
    readonly steps?: TrajectoryStep[];
    readonly expected: unknown;
  }[];
};

function buildModel({ supported, throws, reply }: RecordedCase) {
  const asked: object[] = [];
  const model = {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'jev',
    supportedQuestionTypes: supported,
    doEvaluate(options: object) {
      asked.push({ ...options, abortSignal: undefined });
      return throws === undefined ? Promise.resolve(reply) : Promise.reject(new Error(throws));
    },
  };
  return { asked, model };
}

function buildScorer(given: RecordedCase, model: ReturnType<typeof buildModel>['model']) {
  const { classifierId = 'guard', byId, questions, question, scores, maxRetries, providerOptions } = given;
  return createClassifierScorer({
    id: 's',
    classifier: byId ?? new Classifier({ id: classifierId, model, questions }),
    question,
    state: ({ run }) => (run.input as { readonly state: unknown }).state,
    ...(scores === undefined ? {} : { scores }),
    ...(maxRetries === undefined ? {} : { maxRetries }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
  });
}

const ofKind = (kind: 'creation' | 'run' | undefined) =>
  recorded.cases.filter(({ expected }) => expected.fails === kind);
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('a classifier scorer', () => {
  it.each(ofKind(undefined))('scores $id as the reference does', async (given) => {
    const { asked, model } = buildModel(given);

    const result = await buildScorer(given, model).run({ input: { state: given.state }, output: 'x' });

    const { timestamp, ...response } = result.analyzeStepResult?.response ?? {};
    const said = given.reply.response === undefined ? response : { ...response, timestamp };
    expect({
      score: result.score,
      evidence: asJson({ ...result.analyzeStepResult, response: said }),
      asked: asJson(asked),
    }).toEqual(asJson(given.expected));
    const { choice, score, probability } = given.expected.evidence?.answer ?? {};
    expect(result.reason).toContain(given.question);
    expect(result.reason).toContain(String(choice ?? score ?? probability));
  });

  it.each(ofKind('creation'))('refuses $id when it is made', (given) => {
    expect(() => buildScorer(given, buildModel(given).model)).toThrow(
      /^(Scorer|Question|Classifier|A classifier) /i,
    );
  });

  it.each(ofKind('run'))('gives no score for $id', async (given) => {
    const { asked, model } = buildModel(given);

    await expect(
      buildScorer(given, model).run({ input: { state: given.state }, output: 'x' }),
    ).rejects.toThrow('Scorer "s" failed in analyze');

    expect(asked).toHaveLength(given.expected.asked as number);
  });

  it('gives no score for an answer of a foreign classifier that is out of range', async () => {
    const classifier = {
      id: 'foreign',
      questions: { ok: { type: 'boolean' } } as const,
      evaluate: () => Promise.resolve({ answers: { ok: { type: 'boolean', probability: 7 } }, response: {} }),
    };
    const scorer = createClassifierScorer({ id: 's', classifier, question: 'ok', state: () => 'x' });

    await expect(scorer.run({ output: 'x' })).rejects.toThrow('gives no score');
  });

  it('asks a decision model with the state as a part', async () => {
    const asked: { readonly state?: unknown }[] = [];
    const model = {
      provider: 'test',
      modelId: 'luna',
      doDecide: (options: { readonly state: unknown }) => {
        asked.push(options);
        return Promise.resolve({ answers: { ok: { type: 'boolean', probability: 0.25 } }, warnings: [] });
      },
    };
    const classifier = new Classifier({ id: 'c', model, questions: { ok: { type: 'boolean' } } });
    const scorer = createClassifierScorer({ id: 's', classifier, question: 'ok', state: () => ({ a: 1 }) });

    expect(await scorer.run({ output: 'x' })).toMatchObject({ score: 0.25 });
    expect(asked.map(({ state }) => state)).toEqual([[{ type: 'json', value: { a: 1 } }]]);
  });

  it('names its question, its scores and its state in its fingerprint', () => {
    const model = { provider: 'test', modelId: 'luna', doDecide: () => Promise.resolve({}) };
    const classifier = new Classifier({
      id: 'c',
      model,
      questions: { ok: { type: 'boolean' }, safe: { type: 'boolean' } },
    });
    const options = (['ok', 'safe'] as const).map(
      (question) => createClassifierScorer({ id: 's', classifier, question, state: () => 'x' }).options,
    );

    expect(options[0]).not.toEqual(options[1]);
  });
});

it.each(recorded.mocks)('the tool calls of $id become the mocks of the reference', ({ steps, expected }) => {
  expect(asJson(collectToolMocks(steps))).toEqual(expected);
});
