import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRedactor } from '../../../src/judge/redaction/redaction.ts';
import { configureJudges } from '../../../src/judge/judge-registry.ts';
import { withJudgeScope } from '../../../src/judge/judge-scope.ts';
import { ScorerRunError } from '../../../src/scorers/evals/index.ts';
import { createFaithfulnessScorer, createHallucinationScorer } from '../../../src/scorers/prebuilt/index.ts';
import { createAgentTestRun, createTestMessage } from '../../../src/scorers/shared/utils.ts';
import { judgeFaults, replyJson, replyText, startJudgeServer } from '../../support/fakes/judge-server.ts';
import type {
  JudgeScript,
  JudgeServer,
  JudgeServerRequest,
  ScriptedReply,
} from '../../support/fakes/judge-server.ts';

let server: JudgeServer;
let models = 0;

beforeAll(async () => {
  server = await startJudgeServer(judgeAll);
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
  server.script(judgeAll);
  limitTo(60_000);
});

function limitTo(timeoutMs: number): void {
  configureJudges({
    providers: { local: { baseURL: server.baseUrl } },
    limits: { firstRetryMs: 1, maxRetryWaitMs: 20, timeoutMs },
  });
}

function freshModel(): string {
  models += 1;
  return `local/judge-${models}`;
}

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

const run = {
  ...createAgentTestRun({
    output: [
      createTestMessage({ role: 'assistant', content: 'It is 18 degrees. Mail ada@example.org for more.' }),
    ],
  }),
  context: ['It is 18 degrees', 'Contacts: bob@example.org, ada@example.org'],
};

describe('a judged scorer and a judge behind HTTP', () => {
  it('make a score with its explanation, tokens and calls', async () => {
    const result = await createHallucinationScorer({ model: freshModel() }).run(run);
    expect(result).toMatchObject({ score: 0.5, reason: 'Explained.', label: 'hallucinated' });
    expect(server.requests).toHaveLength(3);
    expect(Object.keys(result.judge ?? {})).toEqual(['preprocess', 'analyze', 'generateReason']);
    expect(server.requests.map(({ body }) => body.temperature)).toEqual([0, 0, 0]);
  });

  it('never see a value that is to be hidden, and know equal values as equal in all questions', async () => {
    const redactor = createRedactor();
    const result = await withJudgeScope({ redactor }, () =>
      createHallucinationScorer({ model: freshModel(), options: { reason: 'template' } }).run(run),
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
    await createHallucinationScorer({ model, options }).run(run);
    await createFaithfulnessScorer({ model, options })
      .run(run)
      .catch(() => undefined);
    expect(server.requests[2]?.prompt).toBe(server.requests[0]?.prompt);
    expect(server.requests[2]?.system).toBe(server.requests[0]?.system);
  });
});

describe('a judge that fails', () => {
  const faults: [string, () => ScriptedReply][] = [
    ['garbage', judgeFaults.garbage],
    ['HTML', judgeFaults.html],
    ['401', judgeFaults.unauthorised],
    ['429', () => judgeFaults.rateLimited()],
    ['500', () => judgeFaults.serverError()],
    ['a refusal', judgeFaults.refusal],
    ['nothing', judgeFaults.empty],
    ['an answer broken off', judgeFaults.breakOff],
    ['another schema', judgeFaults.wrongSchema],
    ['silence', judgeFaults.hang],
  ];

  it.each(faults)('with %s leaves an error that says what to do, and no score', async (_name, reply) => {
    server.script(reply);
    limitTo(reply === judgeFaults.hang ? 300 : 60_000);
    const outcome = await createHallucinationScorer({ model: freshModel() })
      .run(run)
      .catch((error: unknown) => error);
    expect(outcome).toBeInstanceOf(ScorerRunError);
    const error = outcome as ScorerRunError;
    expect(error.code).toMatch(/^judge_/);
    expect(error.failedStep).toBe('preprocess');
    expect(error.result).not.toHaveProperty('score');
    expect(error.result.judge?.preprocess?.executions[0]?.status).toBe('failed');
  });

  it('in the middle of the verdicts leaves no score either', async () => {
    server.script((request) =>
      'claims' in readMaterial(request) ? judgeFaults.truncated() : judgeAll(request),
    );
    await expect(createHallucinationScorer({ model: freshModel() }).run(run)).rejects.toMatchObject({
      failedStep: 'analyze',
      completedSteps: ['preprocess'],
    });
  });
});
