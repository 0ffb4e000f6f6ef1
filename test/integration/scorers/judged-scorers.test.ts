import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readTraces } from '../../../src/conventions/index.ts';
import { InvalidInputError } from '../../../src/domain/errors.ts';
import { JudgeError } from '../../../src/judge/judge-error.ts';
import { configureJudges } from '../../../src/judge/judge-registry.ts';
import { withJudgeScope } from '../../../src/judge/judge-scope.ts';
import { createRedactor } from '../../../src/judge/redaction/redaction.ts';
import {
  createScorer,
  ScorerRunError,
  type Scorer,
  type ScorerRunInput,
  type ScorerRunResult,
  type StepName,
} from '../../../src/scorers/evals/index.ts';
import * as legacy from '../../../src/scorers/legacy/index.ts';
import {
  createFaithfulnessScorer,
  createGroundingScorer,
  createHallucinationScorer,
} from '../../../src/scorers/prebuilt/index.ts';
import { createAgentTestRun, createTestMessage } from '../../../src/scorers/shared/utils.ts';
import { buildRun, JUDGED_CASES, MATERIAL, type JudgedCase } from '../../support/builders/judged-cases.ts';
import {
  judgeFaults,
  replyJson,
  replyText,
  startJudgeServer,
  type JudgeScript,
  type JudgeServer,
  type JudgeServerRequest,
  type ScriptedReply,
} from '../../support/fakes/judge-server.ts';

let server: JudgeServer;
let models = 0;

beforeAll(async () => {
  server = await startJudgeServer(() => judgeFaults.empty());
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
  limitTo(60_000);
});

function limitTo(timeoutMs: number): void {
  configureJudges({
    providers: { local: { baseURL: server.baseUrl } },
    limits: { firstRetryMs: 1, maxRetryWaitMs: 5, maxRetries: 1, timeoutMs },
  });
}

/** A name that no earlier fault is remembered of. */
function freshModel(): string {
  models += 1;
  return `local/judge-${models}`;
}

/** A scorer that asks, with what an honest judge replies. */
interface Asked extends Pick<JudgedCase, 'name' | 'replies'> {
  readonly steps: readonly StepName[];
  /** Default: the run of the judged cases. */
  readonly run?: ScorerRunInput;
  create(model: string, options: { readonly reason: false }): Scorer;
}

/** An object with exactly these members, as a JSON Schema. */
function closed(properties: Record<string, object>): Record<string, unknown> {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

const OWN_PROMPTS: Asked = {
  name: "a scorer of one's own",
  replies: [{ facts: ['It rains.'] }, { good: 1 }, { score: 0.5 }],
  steps: ['preprocess', 'analyze', 'generateScore'],
  create: (model) =>
    createScorer({ id: 'own', judge: { model, instructions: 'You judge.' } })
      .preprocess({
        description: 'facts',
        outputSchema: closed({ facts: { type: 'array', items: { type: 'string' } } }),
        createPrompt: () => 'Which facts?',
      })
      .analyze({
        description: 'good ones',
        outputSchema: closed({ good: { type: 'number' } }),
        createPrompt: () => 'How many are good?',
      })
      .generateScore({ description: 'score', createPrompt: () => 'What is the score?' }),
};

const GROUNDING_VERDICT = { n: 1, verdict: 'unsupported', quotes: [], reason: 'no forecast' };
/** Asks twice: the evidence is too long for one question. */
const LONG_GROUNDING: Asked = {
  name: 'grounding, evidence of two questions',
  replies: [
    { verdicts: [GROUNDING_VERDICT, { ...GROUNDING_VERDICT, n: 2 }] },
    { verdicts: [GROUNDING_VERDICT, { ...GROUNDING_VERDICT, n: 2 }] },
  ],
  steps: ['preprocess', 'analyze'],
  run: buildRun({ context: Array.from({ length: 4 }, (_, piece) => `Note ${piece}. `.repeat(400)) }),
  create: (model, options) =>
    createGroundingScorer({ model, options: { ...options, maxEvidenceChars: 6_000 } }),
};

/** Honest up to the question at `faulty`, which and whose repeats fail; `beforeFault` is called before that one is asked. */
function failAt(
  judged: Asked,
  faulty: number,
  fault: (honest: object) => ScriptedReply,
  beforeFault: () => void = () => undefined,
): void {
  let answered = 0;
  const isNext = (): boolean => answered === faulty;
  if (isNext()) {
    beforeFault();
  }
  server.script(() => {
    const honest = judged.replies[answered] ?? {};
    if (isNext()) {
      return fault(honest);
    }
    answered += 1;
    if (isNext()) {
      beforeFault();
    }
    return replyJson(honest);
  });
}

/** The reply with one more field in its first object: in that of a list where there is one. */
function withOneMore(value: object): object {
  const [name, list] = Object.entries(value).find(([, member]) => isObjectList(member)) ?? [];
  if (name === undefined) {
    return { ...value, confidence: 1 };
  }
  const [first, ...rest] = list as object[];
  return { ...value, [name]: [{ ...first, confidence: 1 }, ...rest] };
}

function isObjectList(value: unknown): value is object[] {
  return Array.isArray(value) && typeof value[0] === 'object';
}

/** The reply with a verdict more than there were numbers: null where nothing is numbered. */
function withOneVerdictMore(value: object): object | null {
  const [name, list] = Object.entries(value).find(([, member]) => isNumberedList(member)) ?? [];
  if (name === undefined) {
    return null;
  }
  const all = list as Record<string, unknown>[];
  const key = 'n' in (all[0] ?? {}) ? 'n' : 'context_index';
  return { ...value, [name]: [...all, { ...all.at(-1), [key]: Number(all.at(-1)?.[key]) + 1 }] };
}

function isNumberedList(value: unknown): value is Record<string, unknown>[] {
  return isObjectList(value) && ['n', 'context_index'].some((key) => key in (value[0] ?? {}));
}

/** The reply without its numbers and truth values, and without the first entry of each list. */
function withoutNumbers(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.slice(1).map(withoutNumbers);
  }
  if (typeof value !== 'object' || value === null) {
    return typeof value === 'number' || typeof value === 'boolean' ? undefined : value;
  }
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withoutNumbers(member)]));
}

const FAULTS: [string, (honest: object) => ScriptedReply, string][] = [
  ['answers too late', () => judgeFaults.hang(), 'judge_timeout'],
  ['streams without an end', () => judgeFaults.neverEnding(), 'judge_timeout'],
  ['answers 429', () => judgeFaults.rateLimited(), 'judge_rate_limited'],
  ['answers 500', () => judgeFaults.serverError(), 'judge_unavailable'],
  ['answers garbage', () => judgeFaults.garbage(), 'judge_malformed'],
  ['answers in another schema', () => judgeFaults.wrongSchema(), 'judge_malformed'],
  ['gives a number in place of an object', () => replyJson(1), 'judge_malformed'],
  ['refuses', () => judgeFaults.refusal(), 'judge_refused'],
  ['is cut off', () => judgeFaults.truncated(), 'judge_malformed'],
];

const asked: readonly Asked[] = [...JUDGED_CASES, LONG_GROUNDING, OWN_PROMPTS];
const places = asked.flatMap((judged) =>
  judged.steps.map((step, index) => ({ name: judged.name, step, index, judged })),
);

async function readOutcome(judged: Asked): Promise<unknown> {
  return judged
    .create(freshModel(), { reason: false })
    .run(judged.run ?? buildRun())
    .catch((error: unknown) => error);
}

/** The findings of a run. Members that the judge adds stay in the results of its steps, as in the reference. */
function foundIn({ score, scores, verdicts }: ScorerRunResult): unknown {
  return { score, scores, verdicts };
}

describe.each(asked)('$name', (judged) => {
  it('gives a score where nothing is wrong', async () => {
    failAt(judged, judged.replies.length, () => judgeFaults.empty());
    const { score, scores } = (await readOutcome(judged)) as ScorerRunResult;
    expect(score ?? scores?.[0]?.score).toBeTypeOf('number');
  });

  it('gives the same score where the judge tells more than it was asked', async () => {
    failAt(judged, judged.replies.length, () => judgeFaults.empty());
    const honest = (await readOutcome(judged)) as ScorerRunResult;
    let questions = 0;
    server.script(() =>
      replyJson({ note: 'sure', rating: 1, ...withOneMore(judged.replies[questions++] ?? {}) }),
    );
    const outcome = (await readOutcome(judged)) as ScorerRunResult;
    expect(foundIn(outcome)).toEqual(foundIn(honest));
    const executions = Object.values(outcome.judge ?? {}).flatMap((step) => step.executions);
    expect(executions.map(({ attemptCount }) => attemptCount)).toEqual(judged.replies.map(() => 1));
  });
});

describe.each(places)('$name, asked in $step', ({ judged, step, index }) => {
  it.each(FAULTS)(
    'gives no score but an error with the step where the judge %s',
    async (_what, fault, code) => {
      // Short for the one question alone: a machine that is busy must not be late with an honest answer.
      failAt(judged, index, fault, () => limitTo(code === 'judge_timeout' ? 50 : 60_000));
      const outcome = await readOutcome(judged);
      expect(outcome).toBeInstanceOf(ScorerRunError);
      expect(outcome).toMatchObject({ failedStep: step, code });
      expect((outcome as ScorerRunError).cause).toBeInstanceOf(JudgeError);
      expect((outcome as ScorerRunError).result).not.toHaveProperty('score');
    },
  );
});

const lastAsked = places.filter(({ judged, index }) => index === judged.steps.length - 1);

/** The passages of the toxicity scorer are the judge's own choice: none of them can be missing. */
const complete = lastAsked.filter(({ judged }) => judged.name !== 'toxicity');

describe.each(complete)('$name', ({ judged, step, index }) => {
  it('gives no score but an error where the judge leaves things out', async () => {
    failAt(judged, index, (honest) => replyJson(withoutNumbers(honest)));
    const outcome = await readOutcome(judged);
    expect(outcome).toMatchObject({ failedStep: step, code: 'judge_malformed' });
  });
});

const numbered = places.filter(
  ({ judged, index }) => withOneVerdictMore(judged.replies[index] ?? {}) !== null,
);

describe.each(numbered)('$name, asked in $step', ({ judged, step, index }) => {
  it('gives no score but an error where the judge gives a verdict for a number that was not asked', async () => {
    failAt(judged, index, (honest) => replyJson(withOneVerdictMore(honest)));
    const outcome = await readOutcome(judged);
    expect(outcome).toMatchObject({ failedStep: step, code: 'judge_malformed' });
  });
});

describe('the list of judged scorers', () => {
  it("has numbered verdicts in all but those whose entries are the judge's own choice", () => {
    const without = asked.filter(({ name }) => !numbered.some((place) => place.name === name));
    expect(without.map(({ name }) => name)).toEqual([
      'toxicity',
      'noise-sensitivity',
      'prompt-alignment',
      'ask',
      'multi-turn-judge',
      "a scorer of one's own",
    ]);
  });
});

/** Sentences are claims; one that does not stand in the context is a hallucination. */
const judgeAll: JudgeScript = (request) => {
  const material = readMaterial(request);
  if ('answer' in material) {
    const sentences = String(material['answer'])
      .split('. ')
      .map((sentence) => sentence.replace(/\.$/, ''));
    return replyJson({ claims: sentences });
  }
  if ('claims' in material) {
    const context = JSON.stringify(material['context']);
    const claims = Object.entries(material['claims'] as Record<string, string>);
    const verdicts = claims.map(([n, claim]) => {
      const backed = context.includes(claim);
      return {
        n: Number(n),
        verdict: backed ? 'no' : 'yes',
        reason: backed ? 'stated' : 'not in the context',
        quote: '',
      };
    });
    return replyJson({ verdicts });
  }
  return replyText('Explained.');
};

function readMaterial({ prompt }: JudgeServerRequest): Record<string, unknown> {
  return JSON.parse(prompt.split('\n')[1] ?? '{}') as Record<string, unknown>;
}

const weatherRun = {
  ...createAgentTestRun({
    output: [
      createTestMessage({ role: 'assistant', content: 'It is 18 degrees. Mail ada@example.org for more.' }),
    ],
  }),
  context: ['It is 18 degrees', 'Contacts: bob@example.org, ada@example.org'],
};

describe('a judged scorer and a judge behind HTTP', () => {
  beforeEach(() => server.script(judgeAll));

  it('make a score with its explanation, tokens and calls', async () => {
    const result = await createHallucinationScorer({ model: freshModel() }).run(weatherRun);
    expect(result).toMatchObject({ score: 0.5, reason: 'Explained.', label: 'hallucinated' });
    expect(server.requests).toHaveLength(3);
    expect(Object.keys(result.judge ?? {})).toEqual(['preprocess', 'analyze', 'generateReason']);
    expect(server.requests.map(({ body }) => body.temperature)).toEqual([0, 0, 0]);
  });

  it('never see a value that is to be hidden, and know equal values as equal in all questions', async () => {
    const redactor = createRedactor();
    const result = await withJudgeScope({ redactor }, () =>
      createHallucinationScorer({ model: freshModel(), options: { reason: 'template' } }).run(weatherRun),
    );
    expect(JSON.stringify(server.requests)).not.toMatch(/ada@|bob@/);
    const claim = result.verdicts?.[1]?.statement ?? '';
    const hidden = /\[EMAIL_\d+\]/.exec(claim)?.[0] ?? 'no placeholder';
    const context = JSON.stringify(readMaterial(server.requests[1] as JudgeServerRequest)['context']);
    expect(context.split(hidden)).toHaveLength(2);
    expect(context.match(/\[EMAIL_\d+\]/g)).toHaveLength(2);
  });

  it('shares the question for the claims between scorers of one answer', async () => {
    const model = freshModel();
    const options = { reason: false } as const;
    await createHallucinationScorer({ model, options }).run(weatherRun);
    await createFaithfulnessScorer({ model, options })
      .run(weatherRun)
      .catch(() => undefined);
    expect(server.requests[2]?.prompt).toBe(server.requests[0]?.prompt);
    expect(server.requests[2]?.system).toBe(server.requests[0]?.system);
  });
});

describe('a judge that fails', () => {
  it.each([
    ['HTML', judgeFaults.html],
    ['401', judgeFaults.unauthorised],
    ['nothing', judgeFaults.empty],
    ['an answer broken off', judgeFaults.breakOff],
  ] as [string, () => ScriptedReply][])(
    'with %s leaves an error and its failed call, and no score',
    async (_name, reply) => {
      server.script(reply);
      const outcome = await createHallucinationScorer({ model: freshModel() })
        .run(weatherRun)
        .catch((error: unknown) => error);
      expect(outcome).toBeInstanceOf(ScorerRunError);
      const error = outcome as ScorerRunError;
      expect(error).toMatchObject({
        code: expect.stringMatching(/^judge_/),
        failedStep: 'preprocess',
        completedSteps: [],
      });
      expect(error.result).not.toHaveProperty('score');
      expect(error.result.judge?.preprocess?.executions[0]?.status).toBe('failed');
    },
  );
});

const FOLDER = new URL('../../fixtures/reports/04-image-in-tool-result/', import.meta.url);
const ENCODED = /[A-Za-z0-9+/=_-]{200}/;
const CHECK_EVIDENCE = ['hallucination', 'faithfulness', 'grounding'];

/** Lets the judge give these replies in turn, and returns its name. */
function scriptJudge(replies: readonly object[]): string {
  const left = [...replies];
  server.script(() => replyJson(left.shift() ?? {}));
  return freshModel();
}

function readReported(file: string): ScorerRunInput {
  const [run] = readTraces(readFileSync(new URL(file, FOLDER), 'utf8')).flatMap(({ runs }) => runs);
  expect(run?.context.join('')).toMatch(ENCODED);
  return { ...run, output: run?.output, groundTruth: MATERIAL.groundTruth };
}

async function listQuestions(judged: JudgedCase, run: ScorerRunInput): Promise<string> {
  const scorer = judged.create(scriptJudge(judged.replies), { reason: false });
  // The replies are about another answer, so the end of the run may fail.
  await scorer.run(run).catch(() => undefined);
  return server.requests
    .flatMap(({ body }) => body.messages.map((message) => String(message.content)))
    .join('\n');
}

const image = readReported('image-mcp.jsonl').context?.[0] ?? '';
const picture = `![photo](data:image/png;base64,${'iVBORw0KGgoA'.repeat(400)})`;
const RUNS: readonly [where: string, run: ScorerRunInput][] = [
  ['a tool result of MCP', readReported('image-mcp.jsonl')],
  ['a data URL in a tool result', readReported('image-dataurl.jsonl')],
  [
    'every text of the run',
    buildRun({
      question: `${MATERIAL.question} ${picture}`,
      answer: `${MATERIAL.answer} ${picture}`,
      context: [image, picture],
      city: picture,
      groundTruth: `${MATERIAL.groundTruth} ${picture}`,
      operator: `${MATERIAL.operator} ${picture}`,
    }),
  ],
];

describe.each(RUNS)('an image in %s', (_where, pictured) => {
  it.each(JUDGED_CASES.map((judged) => ({ name: judged.name, judged })))(
    'is in no question of $name',
    async ({ judged }) => {
      const said = await listQuestions(judged, pictured);
      expect(said).not.toBe('');
      expect(said).not.toMatch(ENCODED);
    },
  );

  it.each(JUDGED_CASES.filter(({ name }) => CHECK_EVIDENCE.includes(name)))(
    'has a mark in the evidence of $name, beside the text of the tool',
    async (judged) => {
      const said = await listQuestions(judged, pictured);
      expect(said).toMatch(/18 degrees/);
      expect(said).toMatch(/\[image\/png, \d+ kB\]/);
    },
  );

  it('is in no question of an own scorer, whose code reads it', async () => {
    let read = '';
    const own = createScorer({
      id: 'own',
      judge: { model: scriptJudge([{ score: 1 }]), instructions: 'Judge it.' },
    }).generateScore({
      description: 'A score',
      createPrompt: ({ run: given }) => {
        read = JSON.stringify(given);
        return `Look at this run: ${read}`;
      },
    });
    expect(await own.run(pictured)).toMatchObject({ score: 1 });
    expect(read).toMatch(ENCODED);
    expect(server.requests[0]?.prompt).not.toMatch(ENCODED);
  });
});

/** Answers honestly, then explains; from the question at `faulty` on it fails instead. */
function answer(replies: readonly object[], faulty = Infinity, fault = judgeFaults.garbage): void {
  let answered = 0;
  server.script((): ScriptedReply => {
    if (answered >= faulty) {
      return fault();
    }
    answered += 1;
    const reply = replies[answered - 1];
    return reply === undefined ? replyText('Explained.') : replyJson(reply);
  });
}

describe('a metric', () => {
  const measure = () =>
    new legacy.FaithfulnessMetric(freshModel(), { context: ['Paris: 18 degrees', 'Paris: dry'] }).measure(
      'How warm is it in Paris?',
      'It is 18 degrees. It will rain.',
    );
  const claims = { claims: ['It is 18 degrees.', 'It will rain.'] };
  const verdicts = ['yes', 'no'].map((verdict, index) => ({ n: index + 1, verdict, reason: 'r', quote: '' }));
  const replies = [claims, { verdicts }];

  it('keeps the score where only the explanation fails', async () => {
    answer(replies, replies.length, judgeFaults.refusal);
    expect(await measure()).toEqual({ score: 0.5, info: { reason: '' } });
  });

  it.each([0, 1])('has no score where question %i is not answered', async (index) => {
    answer(replies, index);
    const outcome = await measure().catch((error: unknown) => error);
    expect(outcome).toBeInstanceOf(ScorerRunError);
    expect(outcome).toMatchObject({ code: expect.stringMatching(/^judge_/) });
  });

  it('says why it cannot score, as it has no other way to', async () => {
    answer([{ claims: [] }]);
    const measuring = measure();
    await expect(measuring).rejects.toThrow('"faithfulness-scorer" cannot score this: the answer makes no');
    await expect(measuring).rejects.toBeInstanceOf(InvalidInputError);
  });
});
