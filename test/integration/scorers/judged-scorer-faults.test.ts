import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  createScorer,
  ScorerRunError,
  type Scorer,
  type ScorerRunInput,
  type ScorerRunResult,
  type StepName,
} from '../../../src/scorers/evals/index.ts';
import { configureJudges } from '../../../src/judge/judge-registry.ts';
import { JudgeError } from '../../../src/judge/judge-error.ts';
import { createGroundingScorer } from '../../../src/scorers/prebuilt/index.ts';
import { JUDGED_CASES, buildRun } from '../../support/builders/judged-cases.ts';
import type { JudgedCase } from '../../support/builders/judged-cases.ts';
import { judgeFaults, replyJson, startJudgeServer } from '../../support/fakes/judge-server.ts';
import type { JudgeServer, ScriptedReply } from '../../support/fakes/judge-server.ts';

let server: JudgeServer;
let models = 0;

beforeAll(async () => {
  server = await startJudgeServer(() => judgeFaults.empty());
});
afterAll(() => server.close());
beforeEach(() => {
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
      'multi-turn-judge',
      "a scorer of one's own",
    ]);
  });
});
