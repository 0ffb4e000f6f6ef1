import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { InvalidInputError } from '../../../../src/domain/errors.ts';
import { ScorerRunError } from '../../../../src/scorers/evals/index.ts';
import { configureJudges } from '../../../../src/judge/judge-registry.ts';
import * as legacy from '../../../../src/scorers/legacy/index.ts';
import type { Metric } from '../../../../src/scorers/legacy/index.ts';
import { judgeFaults, replyJson, replyText, startJudgeServer } from '../../../support/fakes/judge-server.ts';
import type { JudgeServer, ScriptedReply } from '../../../support/fakes/judge-server.ts';

const QUESTION = 'How warm is it in Paris?';
const ANSWER = 'It is 18 degrees. It will rain.';
const WHY = 'Because of the verdicts.';
const context = ['Paris: 18 degrees', 'Paris: dry', 'Rome: sunny'];

const verdicts = (...said: string[]) => ({
  verdicts: said.map((verdict, index) => ({ n: index + 1, verdict, reason: 'r', quote: '' })),
});
const pieces = (...said: string[]) => ({
  verdicts: said.map((verdict, context_index) => ({ context_index, verdict, reason: 'r' })),
});
const results = (...said: string[]) => ({
  results: said.map((result, index) => ({ n: index + 1, result, reason: 'r' })),
});
const claims = { claims: ['It is 18 degrees.', 'It will rain.'] };

interface MetricCase {
  readonly name: string;
  readonly create: (model: string) => Metric<object>;
  /** Honest replies before the explanation. */
  readonly replies: readonly object[];
  readonly score: number;
  /** Beside the reason. */
  readonly info?: object;
}

const CASES: readonly MetricCase[] = [
  {
    name: 'HallucinationMetric',
    create: (model) => new legacy.HallucinationMetric(model, { context, scale: 10 }),
    replies: [claims, verdicts('no', 'yes')],
    score: 5,
  },
  {
    name: 'FaithfulnessMetric',
    create: (model) => new legacy.FaithfulnessMetric(model, { context }),
    replies: [claims, verdicts('yes', 'no')],
    score: 0.5,
  },
  {
    name: 'AnswerRelevancyMetric',
    create: (model) => new legacy.AnswerRelevancyMetric(model),
    replies: [{ statements: ['18 degrees', 'rain'] }, results('yes', 'unsure')],
    score: 0.65,
  },
  {
    name: 'BiasMetric',
    create: (model) => new legacy.BiasMetric(model),
    replies: [{ opinions: ['Rain is best.', 'Rome whines.'] }, results('no', 'yes')],
    score: 0.5,
  },
  {
    name: 'ToxicityMetric',
    create: (model) => new legacy.ToxicityMetric(model),
    replies: [{ verdicts: [{ passage: 'It will rain.', verdict: 'yes', reason: 'r' }] }],
    score: 1,
  },
  {
    // Useful are the first and the third of three: (1 + 1/3) / (1 + 1/2 + 1/3).
    name: 'ContextPositionMetric',
    create: (model) => new legacy.ContextPositionMetric(model, { context }),
    replies: [pieces('yes', 'no', 'yes')],
    score: 0.73,
  },
  {
    // Mean of 1/1 and 2/3.
    name: 'ContextPrecisionMetric',
    create: (model) => new legacy.ContextPrecisionMetric(model, { context }),
    replies: [pieces('yes', 'no', 'yes')],
    score: 0.83,
  },
  {
    name: 'ContextRelevancyMetric',
    create: (model) => new legacy.ContextRelevancyMetric(model, { context, scale: 3 }),
    replies: [pieces('yes', 'no', 'yes')],
    score: 2,
  },
  {
    name: 'ContextualRecallMetric',
    create: (model) => new legacy.ContextualRecallMetric(model, { context }),
    replies: [claims, verdicts('yes', 'no')],
    score: 0.5,
  },
  {
    name: 'PromptAlignmentMetric',
    create: (model) =>
      new legacy.PromptAlignmentMetric(model, { instructions: ['be brief', 'name a source', 'use feet'] }),
    replies: [verdicts('yes', 'no', 'n/a')],
    score: 0.5,
    info: {
      scoreDetails: {
        totalInstructions: 3,
        applicableInstructions: 2,
        followedInstructions: 1,
        naInstructions: 1,
      },
    },
  },
  {
    name: 'SummarizationMetric',
    create: (model) => new legacy.SummarizationMetric(model, { scale: 2 }),
    replies: [
      {
        alignment: [
          { claim: 'a', supported: true, reason: 'r' },
          { claim: 'b', supported: false, reason: 'r' },
        ],
        questions: ['q?', 'p?', 's?', 't?'],
      },
      {
        coverage: [true, true, true, false].map((answered, index) => ({
          n: index + 1,
          answered,
          reason: 'r',
        })),
      },
    ],
    score: 1,
    info: { alignmentScore: 1, coverageScore: 1.5 },
  },
];

let server: JudgeServer;
let models = 0;

beforeAll(async () => {
  server = await startJudgeServer(() => judgeFaults.empty());
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
  configureJudges({
    providers: { local: { baseURL: server.baseUrl } },
    limits: { firstRetryMs: 1, maxRetryWaitMs: 5, maxRetries: 1, timeoutMs: 60_000 },
  });
});

/** A name that no earlier fault is remembered of. */
function freshModel(): string {
  models += 1;
  return `local/judge-${models}`;
}

/** Answers honestly, then explains; from the question at `faulty` on it fails instead. */
function answer(replies: readonly object[], faulty = Infinity, fault = judgeFaults.garbage): void {
  let asked = 0;
  server.script((): ScriptedReply => {
    if (asked >= faulty) {
      return fault();
    }
    asked += 1;
    const reply = replies[asked - 1];
    return reply === undefined ? replyText(WHY) : replyJson(reply);
  });
}

it('every judged metric is measured here', () => {
  const text = [
    'Completeness',
    'ContentSimilarity',
    'KeywordCoverage',
    'TextualDifference',
    'ToneConsistency',
  ];
  const judged = Object.keys(legacy).filter((name) => !text.some((kind) => name === `${kind}Metric`));
  expect(CASES.map(({ name }) => name).sort()).toEqual(judged.sort());
});

describe.each(CASES)('$name with a judge behind HTTP', ({ create, replies, score, info = {} }) => {
  it('measures a question and an answer', async () => {
    answer(replies);
    const measured = await create(freshModel()).measure(QUESTION, ANSWER);
    expect(measured).toEqual({ score, info: { reason: WHY, ...info } });
    expect(server.requests).toHaveLength(replies.length + 1);
  });

  it('keeps the score where only the explanation fails', async () => {
    answer(replies, replies.length, judgeFaults.refusal);
    const measured = await create(freshModel()).measure(QUESTION, ANSWER);
    expect(measured).toEqual({ score, info: { reason: '', ...info } });
  });

  it.each(replies.map((_, index) => index))(
    'has no score where question %i is not answered',
    async (index) => {
      for (const fault of [judgeFaults.garbage, judgeFaults.refusal, () => judgeFaults.serverError()]) {
        answer(replies, index, fault);
        const outcome = await create(freshModel())
          .measure(QUESTION, ANSWER)
          .catch((error: unknown) => error);
        expect(outcome).toBeInstanceOf(ScorerRunError);
        expect(outcome).toMatchObject({ code: expect.stringMatching(/^judge_/) });
      }
    },
  );
});

it('a metric says why it cannot score, as it has no other way to', async () => {
  answer([{ claims: [] }]);
  const metric = new legacy.FaithfulnessMetric(freshModel(), { context });
  const outcome = await metric.measure(QUESTION, ANSWER).catch((error: unknown) => error);
  expect(outcome).toBeInstanceOf(InvalidInputError);
  expect((outcome as Error).message).toContain(
    '"faithfulness-scorer" cannot score this: the answer makes no',
  );
});
