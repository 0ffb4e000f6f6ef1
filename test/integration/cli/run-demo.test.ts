import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readTraces } from '../../../src/conventions/traces/read-traces.ts';
import {
  DEMO_JUDGE_MODEL,
  runAgentScenarios,
  startScriptedModel,
  type AgentScenarioRun,
  type ScriptedModel,
} from '../../../src/cli/demo/run-demo.ts';
import type { AgentRun } from '../../../src/domain/trace/agent-run.ts';
import { configureJudges } from '../../../src/judge/judge-registry.ts';
import { createFaithfulnessScorer } from '../../../src/scorers/prebuilt/faithfulness.ts';
import { createHallucinationScorer } from '../../../src/scorers/prebuilt/hallucination.ts';
import { startHttpReceiver, type HttpReceiver } from '../../support/fakes/http-receiver.ts';

let receiver: HttpReceiver;
let model: ScriptedModel;
let scenarios: AgentScenarioRun[];
let runs: Map<string, AgentRun>;

beforeAll(async () => {
  receiver = await startHttpReceiver();
  model = await startScriptedModel();
  configureJudges({ providers: { demo: { baseURL: model.url } } });
  scenarios = await runAgentScenarios({ otlpUrl: receiver.url, modelUrl: model.url });
  const readings = readTraces(receiver.requests.map(({ body }) => body).join('\n'));
  runs = new Map(
    readings.flatMap((reading) => reading.runs.map((run): [string, AgentRun] => [reading.traceId, run])),
  );
});
afterAll(async () => {
  await model.close();
  await receiver.close();
});

function buildRun(name: AgentScenarioRun['scenario']): AgentRun {
  const traceId = scenarios.find(({ scenario }) => scenario === name)?.traceId ?? '';
  const run = runs.get(traceId);
  if (run === undefined) {
    throw new Error(`no run was read for ${name}`);
  }
  return run;
}

describe('the demonstration', () => {
  test('sends four traces that are read as one scorable run each', () => {
    expect(scenarios.map(({ scenario }) => scenario)).toEqual([
      'truthful',
      'contradicting',
      'tool-fails',
      'no-tools',
    ]);
    expect(new Set(scenarios.map(({ traceId }) => traceId)).size).toBe(4);
    for (const { scenario } of scenarios) {
      expect(buildRun(scenario)).toMatchObject({
        agent: 'weather-agent',
        service: 'weather-demo',
        scorable: true,
      });
    }
  });

  test('gives the evidence of the tools, failures included', () => {
    expect(buildRun('truthful').context.join()).toContain('"temperatureC":18');
    expect(buildRun('tool-fails').context).toEqual(['get_weather failed: weather service unavailable']);
    expect(buildRun('no-tools').context).toEqual([]);
  });

  test.each([
    ['truthful', 0, 1],
    ['contradicting', 0.5, 0.5],
    ['tool-fails', 0, 1],
  ] as const)('scores the %s run', async (name, hallucination, faithfulness) => {
    const run = buildRun(name);
    const judge = `demo/${DEMO_JUDGE_MODEL}`;

    const hallucinated = await createHallucinationScorer({ model: judge }).run({ ...run });
    const faithful = await createFaithfulnessScorer({ model: judge }).run({ ...run });

    expect(hallucinated.score).toBe(hallucination);
    expect(faithful.score).toBe(faithfulness);
  });

  test('names the claim that contradicts the tool', async () => {
    const run = buildRun('contradicting');

    const result = await createHallucinationScorer({ model: `demo/${DEMO_JUDGE_MODEL}` }).run({ ...run });

    expect(result.reason).toContain('The sky is sunny, so no umbrella is needed.');
    expect(result.reason).toContain('sunny');
  });

  test('leaves the run without evidence unscored', async () => {
    const scorer = createHallucinationScorer({ model: `demo/${DEMO_JUDGE_MODEL}` });

    const result = await scorer.run({ ...buildRun('no-tools') });

    expect(result).not.toHaveProperty('score');
    expect(result.notScorable).toBeDefined();
  });

  test('fails with a message when no receiver accepts its spans', async () => {
    const failing = await startHttpReceiver();
    failing.answer(400);
    try {
      await expect(runAgentScenarios({ otlpUrl: failing.url, modelUrl: model.url })).rejects.toMatchObject({
        code: 'delivery_failed',
      });
    } finally {
      await failing.close();
    }
  });
});
