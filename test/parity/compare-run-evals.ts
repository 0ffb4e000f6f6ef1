import * as evals from '../../src/scorers/evals/index.ts';
import type { EvalAgent, EvalWorkflow, RunEvalsConfig, Scorer } from '../../src/scorers/evals/index.ts';
import { createTestMessage } from '../../src/scorers/shared/utils.ts';
import { makeEvalFns } from '../fixtures/parity/fns.mjs';
import type { Comparison } from './comparison.ts';
import { record, revive } from './recorded-cases.ts';
import type { RecordedCase } from './recorded-cases.ts';

type Answers = Record<string, string | { fail: string }>;

/** Answers every question from a list. */
function buildAgent(answers: Answers): EvalAgent {
  const generate = async (input: string) => {
    const answer = answers[input];
    if (typeof answer !== 'string') {
      throw new Error(answer?.fail ?? `no answer to ${input}`);
    }
    const inputMessages = [createTestMessage({ content: input, role: 'user' })];
    return {
      scoringData: {
        input: { inputMessages, rememberedMessages: [], systemMessages: [], taggedSystemMessages: {} },
        output: [createTestMessage({ content: answer, role: 'assistant' })],
      },
    };
  };
  return { generate };
}

/** Roles of a `serve` process. */
function workflow(): EvalWorkflow {
  return {
    createRun: () => ({
      start: async ({ inputData: { n } }: { inputData: { n: number } }) => ({
        status: 'success',
        result: { value: (n + 1) * 2 },
        steps: {
          input: { n } as never,
          add: { status: 'success', output: { value: n + 1 } },
          double: { status: 'success', output: { value: (n + 1) * 2 } },
        },
        stepExecutionPath: ['add', 'double'],
      }),
    }),
  };
}

const evalFns = makeEvalFns(evals) as Record<string, never>;

function reviveScorers(value: unknown): unknown {
  if (value === null || typeof value !== 'object') {
    return value;
  }
  if ('$scorer' in value) {
    const { id, fn, type } = value.$scorer as { id: string; fn: string; type?: 'trajectory' };
    const score = evalFns[fn] ?? (revive({ $fn: fn }) as never);
    return evals.createScorer({ id, ...(type === undefined ? {} : { type }) }).generateScore(score) as Scorer;
  }
  if (Array.isArray(value) || '$undefined' in value) {
    return Array.isArray(value) ? value.map(reviveScorers) : undefined;
  }
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, reviveScorers(member)]));
}

async function observe(recorded: RecordedCase): Promise<unknown> {
  const { target, answers, data, scorers, gates, concurrency } = recorded;
  let calls = 0;
  let scorerResultKeys: string[] = [];
  try {
    const value = await evals.runEvals({
      target: target === 'workflow' ? workflow() : buildAgent(answers as Answers),
      data: reviveScorers(data) as RunEvalsConfig['data'],
      scorers: reviveScorers(scorers) as RunEvalsConfig['scorers'],
      gates: (reviveScorers(gates) ?? []) as Scorer[],
      concurrency: (concurrency as number) ?? 1,
      onItemComplete: ({ scorerResults }) => {
        calls += 1;
        scorerResultKeys = Object.keys(scorerResults).sort();
      },
    });
    return { value: record(value), onItemComplete: { calls, scorerResultKeys } };
  } catch (error) {
    if (!(error instanceof evals.EvalError)) {
      throw error;
    }
    const { id, domain, category } = error;
    return { error: { thrown: true, id, domain, category } };
  }
}

function readExpected({ result }: RecordedCase): unknown {
  const { error, ...facts } = result as { error?: Record<string, unknown> };
  if (error === undefined) {
    return facts;
  }
  const { name: _name, ...errorFacts } = error;
  return { error: errorFacts };
}

/** Result of an evaluation of a recorded agent or workflow. */
export async function compareRunEvals(recorded: RecordedCase): Promise<Comparison> {
  return { ours: await observe(recorded), recorded: readExpected(recorded) };
}
