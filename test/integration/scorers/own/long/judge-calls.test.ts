import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { BoundScorer } from '../../../../../src/scoring/select/rule.ts';
import { scoreTraces } from '../../../../../src/scoring/score-traces.ts';
import { createJudgeRegistry } from '../../../../../src/judge/judge-registry.ts';
import { createReplyCache } from '../../../../../src/judge/judge-scope.ts';
import { OwnScorerWorld } from '../../../../support/scoring/own-scorer-world.ts';
import {
  judgeFaults,
  replyJson,
  replyText,
  startJudgeServer,
  type JudgeServer,
} from '../../../../support/fakes/judge-server.ts';
import { MemoryStore } from '../../../../support/fakes/memory-store.ts';
import {
  agentSpan,
  buildLiveMode,
  newTraceId,
  createTestScoring,
  buildRule,
} from '../../../../support/scoring/scoring-world.ts';

let server: JudgeServer;
let world: OwnScorerWorld;
beforeAll(async () => {
  server = await startJudgeServer(() => replyJson({ score: 0.5 }));
});
afterAll(() => server.close());
beforeEach(() => {
  world = new OwnScorerWorld();
  server.requests.length = 0;
  server.script(() => replyJson({ score: 0.5 }));
});
afterEach(() => world.close());

/** A scorer that asks whether the answer is polite; it names no judge. */
const POLITE = `
  import { createScorer } from 'spanscore/evals';
  export default createScorer({ id: 'polite', type: 'agent', judge: { instructions: 'Judge politeness.' } })
    .generateScore({
      description: 'politeness',
      createPrompt: ({ run }) => 'Is this polite? ' + run.output.map((message) => message.content.content).join(' '),
    });
`;

async function bindPolite(
  source = POLITE,
  limits: Parameters<OwnScorerWorld['bindModule']>[2] = {},
): Promise<BoundScorer> {
  const path = world.writeModule('polite', source);
  return world.bindModule('polite', path, { defaultJudge: 'local/default', ...limits });
}

/** Scores a trace for each answer, all at once, as the daemon does. */
async function scoreAnswers(bound: BoundScorer, answers: readonly string[]): Promise<MemoryStore> {
  const store = new MemoryStore();
  const mode = await buildLiveMode(store, buildRule([], { scorers: [bound] }));
  const keys = answers.map((says) => {
    const traceId = newTraceId();
    store.ingest([agentSpan(traceId, 'a', { says })]);
    return { tenant: '', traceId };
  });
  store.clockMs += 60_000;
  const judges = createJudgeRegistry({
    providers: { local: { baseURL: server.baseUrl } },
    prices: { 'local/entry': { input: 1_000, output: 0 }, 'local/default': { input: 1_000, output: 0 } },
    limits: { firstRetryMs: 1, maxRetryWaitMs: 10 },
  });
  const cache = createReplyCache({ maxEntries: 100, maxChars: 100_000 });
  await scoreTraces({ ...createTestScoring(store), judgeScope: { judges, cache } }, keys, mode);
  return store;
}

it('asks the default judge from the host: redacted, recorded with its step, and paid for', async () => {
  const bound = await bindPolite();
  const store = await scoreAnswers(bound, ['Write to ann@example.com.']);

  expect(bound.scorer.judgeModel).toBe('local/default');
  expect(store.scores()).toMatchObject([
    { scorer: 'polite', score: 0.5, judgeModel: 'local/default', judgeCalls: 1 },
  ]);
  expect(store.scores()[0]?.costUsd).toBeGreaterThan(0);
  expect(store.scores()[0]?.redactions).toBeGreaterThan(0);
  expect(store.judgeCallRows).toMatchObject([{ step: 'generateScore', model: 'local/default' }]);
  expect(server.requests[0]?.prompt).toMatch('Is this polite?');
  expect(server.requests[0]?.prompt).not.toMatch('ann@example.com');
});

it('asks the judge of the entry in place of the one that the file names', async () => {
  const named = POLITE.replace("instructions: 'Judge", "model: 'openai/gpt-5', instructions: 'Judge");
  const bound = await bindPolite(named, { judge: 'local/entry' });
  await scoreAnswers(bound, ['Hello.']);

  expect(bound.scorer.judgeModel).toBe('local/entry');
  expect(server.requests.map(({ body }) => body.model)).toEqual(['entry']);
});

it('asks an equal question once, and one whose reply cannot be used again', async () => {
  server.script(({ count }) => (count === 1 ? judgeFaults.garbage() : replyJson({ score: 0.25 })));
  const bound = await bindPolite();

  const store = await scoreAnswers(bound, ['Hello.']);
  expect(store.scores()).toMatchObject([{ score: 0.25, judgeCalls: 2 }]);

  server.requests.length = 0;
  server.script(() => replyJson({ score: 0.75 }));
  const twice = await scoreAnswers(bound, ['Hello again.', 'Hello again.', 'Hello again.']);
  expect(twice.scores().map(({ score }) => score)).toEqual([0.75, 0.75, 0.75]);
});

it.each([
  ['rateLimited', 'deferred', 'judge_rate_limited'],
  ['serverError', 'deferred', 'judge_unavailable'],
  ['unauthorised', 'deferred', 'judge_unauthorised'],
  ['refusal', 'failed', 'judge_refused'],
] as const)('leaves a judge error what it is: %s is %s as %s', async (fault, status, code) => {
  server.script(() => judgeFaults[fault]());
  const store = await scoreAnswers(await bindPolite(), ['Hello.']);
  expect(store.decisions()).toMatchObject([{ status, reason: expect.stringMatching(`^${code}: `) }]);
});

it('does not count the time of a judge, and runs go on beside those that wait for one', async () => {
  let open = 0;
  let most = 0;
  server.script(async () => {
    open += 1;
    most = Math.max(most, open);
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    open -= 1;
    return replyText('{"score":1}');
  });
  const bound = await bindPolite(POLITE, { timeoutMs: 4_000 });
  const answers = Array.from({ length: 6 }, (_, index) => `Hello ${index}.`);

  const store = await scoreAnswers(bound, answers);

  expect(store.scores().map(({ score }) => score)).toEqual(answers.map(() => 1));
  expect(most).toBeGreaterThan(1);
  expect(world.reading('processes', 'polite')).toBe(1);
});

it('finds the run that loops while it waits for a judge, among those that wait beside it', async () => {
  const source = POLITE.replace(
    '.generateScore(',
    `.preprocess(({ run }) => {
       setTimeout(() => { while (JSON.stringify(run.output).includes('loop')); }, 20);
     }).generateScore(`,
  );
  server.script(({ prompt }) => replyJson({ score: 1 }, { delayMs: prompt.includes('loop') ? 1_000 : 300 }));
  const bound = await bindPolite(source, { timeoutMs: 3_000 });

  const store = await scoreAnswers(bound, ['please loop', 'Hello one.', 'Hello two.']);

  expect(store.scores().map(({ score }) => score)).toEqual([1, 1]);
  const failed = store.decisions().filter(({ status }) => status === 'failed');
  expect(failed).toMatchObject([{ reason: expect.stringMatching(/^timeout: scorer polite/) }]);
});

it('asks several questions of one run at a time', async () => {
  const source = `
    import { createScorer } from 'spanscore/evals';
    import { createFaithfulnessScorer, createHallucinationScorer } from 'spanscore/scorers';
    const options = { context: ['It rains.'], reason: 'template' };
    const both = [createFaithfulnessScorer, createHallucinationScorer].map((create) => create({ model: 'local/default', options }));
    export default createScorer({ id: 'both', type: 'agent' }).generateScore(async ({ run }) => {
      const results = await Promise.all(both.map((scorer) => scorer.run(run)));
      return results[0].score + results[1].score;
    });
  `;
  server.script(({ prompt, system }) =>
    `${system}${prompt}`.includes('verdict')
      ? replyJson({ verdicts: [{ number: 1, verdict: 'yes', reason: 'stated' }] })
      : replyJson({ claims: ['It rains.'] }),
  );
  const store = await scoreAnswers(await bindPolite(source), ['It rains.']);
  expect(store.decisions()).toMatchObject([{ status: expect.stringMatching(/scored|failed/) }]);
  expect(server.requests.length).toBeGreaterThan(1);
});
