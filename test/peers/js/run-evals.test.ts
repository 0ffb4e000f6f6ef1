import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createScorer,
  runEvals,
  type EvalAgent,
  type EvalWorkflow,
} from '../../../src/scorers/evals/index.ts';
import { expectEvals } from '../../../src/scorers/evals/vitest.ts';
import {
  checks,
  createKeywordCoverageScorer,
  createToolCallAccuracyScorerCode,
  createTrajectoryAccuracyScorerCode,
} from '../../../src/scorers/prebuilt/index.ts';
import { getAssistantMessageFromRunOutput } from '../../../src/scorers/shared/utils.ts';
import { replyText, startJudgeServer } from '../../support/fakes/judge-server.ts';
import type { JudgeScript, JudgeServer } from '../../support/fakes/judge-server.ts';
import { tellNotProved } from '../../support/not-proved.ts';
import { noJsPackages } from './js-packages.ts';

if (noJsPackages !== undefined) {
  tellNotProved('runEvals with agents of the published framework', noJsPackages);
}

interface Targets {
  weatherAgent(baseUrl: string, options?: { remembers?: boolean }): EvalAgent;
  countingWorkflow(): EvalWorkflow;
}

/** The model: asks for the tool where the question wants it, then answers; is down where the question says so. */
const model: JudgeScript = ({ body: { messages } }) => {
  const asked = messages.filter(({ role }) => role === 'user').map(({ content }) => JSON.stringify(content));
  const last = asked.at(-1) ?? '';
  if (last.includes('DOWN')) {
    return { kind: 'raw', status: 400, body: '{"error":{"message":"the model is down"}}' };
  }
  if (last.includes('warm') && messages.at(-1)?.role !== 'tool') {
    const toolCalls = [{ id: `call-${asked.length}`, name: 'get_weather', args: { city: 'Paris' } }];
    return { kind: 'text', text: null, toolCalls };
  }
  return replyText(last.includes('warm') ? 'It is 18 degrees warm.' : `Hello for the ${asked.length}. time.`);
};

const length = createScorer({ id: 'length', type: 'agent' }).generateScore(
  ({ run }) => getAssistantMessageFromRunOutput(run.output)?.length ?? 0,
);
const messages = createScorer({ id: 'messages', type: 'agent' }).generateScore(
  ({ run }) => run.output.length,
);

describe.skipIf(noJsPackages !== undefined)('runEvals with agents of the published framework', () => {
  let server: JudgeServer;
  let targets: Targets;

  beforeAll(async () => {
    server = await startJudgeServer(model);
    targets = (await import(new URL('mastra-targets.mjs', import.meta.url).href)) as Targets;
  });
  afterAll(() => server.close());

  it('scores their answers, tool calls and trajectories in groups', async () => {
    const { scores, summary, errors } = await runEvals({
      target: targets.weatherAgent(server.baseUrl),
      data: [{ input: 'How warm is it in Paris?' }],
      scorers: {
        agent: [
          createKeywordCoverageScorer(),
          createToolCallAccuracyScorerCode({ expectedTool: 'get_weather' }),
        ],
        trajectory: [
          createTrajectoryAccuracyScorerCode({
            expectedTrajectory: [{ stepType: 'tool_call', name: 'get_weather' }],
          }),
        ],
      },
    });
    expect(errors).toBeUndefined();
    expect(summary).toEqual({ totalItems: 1 });
    expect(scores).toEqual({
      agent: { 'keyword-coverage-scorer': 0.5, 'code-tool-call-accuracy-scorer': 1 },
      trajectory: { 'code-trajectory-accuracy-scorer': 1 },
    });
  });

  it('judges by gates and thresholds, several items at once', async () => {
    const asked: unknown[] = [];
    const data = Array.from({ length: 6 }, (_, index) => ({ input: `How warm is it, ${index}?` }));
    const passed = await runEvals({
      target: targets.weatherAgent(server.baseUrl),
      data,
      gates: [checks.noToolErrors(), checks.calledTool('get_weather')],
      scorers: [{ scorer: checks.similarity('It is 18 degrees warm.'), threshold: { min: 0.9, max: 1 } }],
      concurrency: 3,
      onItemComplete: ({ item }) => void asked.push(item.input),
    });
    expect(passed).toMatchObject({
      verdict: 'passed',
      scores: { 'check-similarity': 1 },
      gateResults: [
        { id: 'check-no-tool-errors', passed: true, score: 1 },
        { id: 'check-called-tool', passed: true, score: 1 },
      ],
    });
    expect(new Set(asked)).toEqual(new Set(data.map(({ input }) => input)));
  });

  it('fails by a gate and misses a threshold as they say', async () => {
    const common = { target: targets.weatherAgent(server.baseUrl), data: [{ input: 'Hello' }] };
    const missed = await runEvals({
      ...common,
      scorers: [{ scorer: checks.includes('degrees'), threshold: 0.5 }],
    });
    expect(missed.verdict).toBe('scored');
    await expect(
      expectEvals({ ...common, gates: [checks.calledTool('get_weather')] }).toPass(),
    ).rejects.toThrow('gate check-called-tool: pass rate 0% < required 100%');
  });

  it('reports an agent that fails, and finishes the others', async () => {
    const { scores, errors } = await runEvals({
      target: targets.weatherAgent(server.baseUrl),
      data: [{ input: 'DOWN' }, { input: 'Hello' }],
      scorers: [length],
      targetOptions: { modelSettings: { maxRetries: 0 } },
    });
    expect(scores).toEqual({ length: 'Hello for the 1. time.'.length });
    expect(errors).toMatchObject([{ item: 0, id: 'RUN_EXPERIMENT_TARGET_FAILED_TO_GENERATE_RESULT' }]);
    expect(errors?.[0]?.message).toContain('the model is down');
  });

  it('leads a conversation in one thread that the agent remembers, scored turn by turn', async () => {
    const result = await runEvals({
      target: targets.weatherAgent(server.baseUrl, { remembers: true }),
      data: [
        {
          turns: [
            { input: 'Hello', gates: [checks.includes('Hello for the 1. time')] },
            { input: 'Hello again', scorers: [{ scorer: checks.includes('the 2. time'), threshold: 1 }] },
          ],
        },
        { turns: [{ input: 'Hello', gates: [checks.includes('Hello for the 1. time')] }] },
      ],
      scorers: [messages],
      concurrency: 2,
    });
    expect(result).toMatchObject({
      verdict: 'passed',
      scores: { messages: 1.5 },
      turnResults: [
        { index: 0, gateResults: [{ id: 'check-includes', passed: true, score: 1 }] },
        { index: 1, thresholdResults: [{ id: 'check-includes', passed: true, averageScore: 1 }] },
      ],
    });
  });

  it('takes several inputs as one conversation', async () => {
    const { scores } = await runEvals({
      target: targets.weatherAgent(server.baseUrl, { remembers: true }),
      data: [{ inputs: ['Hello', 'Hello again', 'And again'] }],
      scorers: [messages, checks.includes('Hello for the 3. time')],
    });
    expect(scores).toEqual({ messages: 3, 'check-includes': 1 });
  });

  it('scores a workflow, its steps and its trajectory', async () => {
    const n = (id: string, read: (run: { input?: unknown; output: unknown }) => unknown) =>
      createScorer({ id }).generateScore(({ run }) => (read(run) as { n: number }).n);
    const { scores, errors } = await runEvals({
      target: targets.countingWorkflow(),
      data: [{ input: { n: 1 } }, { input: { n: 4 } }],
      scorers: {
        workflow: [n('result', ({ output }) => output)],
        steps: {
          add: [n('given', ({ input }) => input)],
          double: [n('doubled', ({ output }) => output)],
        },
        trajectory: [
          createTrajectoryAccuracyScorerCode({ expectedTrajectory: [{ name: 'add' }, { name: 'double' }] }),
        ],
      },
      concurrency: 2,
    });
    expect(errors).toBeUndefined();
    expect(scores).toEqual({
      workflow: { result: 7 },
      steps: { add: { given: 2.5 }, double: { doubled: 7 } },
      trajectory: { 'code-trajectory-accuracy-scorer': 1 },
    });
  });

  it('scores only the steps of a workflow that succeeded', async () => {
    const ran = createScorer({ id: 'ran' }).generateScore(() => 1);
    const { scores } = await runEvals({
      target: targets.countingWorkflow(),
      data: [{ input: { n: 13 } }],
      scorers: { steps: { add: [ran], double: [ran] }, trajectory: [ran] },
    });
    expect(scores).toEqual({ trajectory: { ran: 1 } });
  });
});
