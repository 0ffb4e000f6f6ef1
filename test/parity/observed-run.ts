import {
  ScorerError,
  ScorerRunError,
  type Scorer,
  type ScorerRunInput,
  type ScorerRunResult,
} from '../../src/scorers/evals/index.ts';
import { record } from './recorded-cases.ts';

const STEPS = ['preprocess', 'analyze', 'generateScore', 'generateReason'] as const;
const RESULT_FIELDS = ['score', 'reason', 'preprocessStepResult', 'analyzeStepResult', 'judge'] as const;
const PROMPT_FIELDS = STEPS.map((step) => `${step}Prompt` as const);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Runs a scorer and writes down what came of it the way the recordings do, as far as the expected case has it. */
export async function observeRun(
  build: () => Scorer,
  input: ScorerRunInput,
  expected: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  try {
    const scorer = build();
    const result = await scorer.run(input);
    return strip({
      ...observeResult(result),
      ...('promptFields' in expected ? { promptFields: listPromptFields(result) } : {}),
      ...('runId' in expected ? { runId: UUID.test(String(result.runId)) ? '<uuid>' : result.runId } : {}),
      ...('resultKeys' in expected ? { resultKeys: Object.keys(result).sort() } : {}),
      scorer: { id: scorer.id, name: scorer.name, type: (scorer as { type?: unknown }).type ?? null },
    });
  } catch (error) {
    return observeError(error, expected);
  }
}

function observeResult(result: ScorerRunResult): Record<string, unknown> {
  return {
    score: 'score' in result ? result.score : { $undefined: true },
    reason: recorded(result.reason),
    preprocessStepResult: recorded(result.preprocessStepResult),
    analyzeStepResult: recorded(result.analyzeStepResult),
    notScorable: result.notScorable,
    judge: observeJudge(result),
  };
}

function listPromptFields(result: ScorerRunResult): string[] {
  return PROMPT_FIELDS.filter((field) => result[field] !== undefined).sort();
}

/** Undefined step results are left out of a recording. */
function recorded(value: unknown): unknown {
  return value === undefined ? undefined : record(value);
}

function observeError(error: unknown, expected: Record<string, unknown>): Record<string, unknown> {
  if (!(error instanceof ScorerError)) {
    throw error;
  }
  const { id, domain, category } = error;
  if (!('id' in ((expected['error'] as object | undefined) ?? {}))) {
    // A plain Error in the reference; ours says more.
    return { error: { thrown: true } };
  }
  if (!(error instanceof ScorerRunError)) {
    return { error: { thrown: true, id, domain, category } };
  }
  const { failedStep, completedSteps, result, cause } = error;
  const reached = [...RESULT_FIELDS, ...PROMPT_FIELDS].filter((field) => result[field] !== undefined).sort();
  return strip({
    error: strip({
      thrown: true,
      id,
      domain,
      category,
      failedStep,
      completedSteps,
      resultScore: result.score,
      resultHas: reached.length === 0 ? undefined : reached,
      // The reference's own sentences are not recorded, only those of the fixture.
      causeMessage:
        'causeMessage' in ((expected['error'] as object | undefined) ?? {}) ? causeMessage(cause) : undefined,
    }),
    judge: observeJudge(result),
  });
}

/** The innermost message: an error of a model is wrapped with what we know of it. */
function causeMessage(cause: unknown): string {
  const { message, cause: inner } = cause as Error;
  return inner instanceof Error ? causeMessage(inner) : message;
}

function observeJudge(result: ScorerRunResult): Record<string, unknown> | undefined {
  if (result.judge === undefined) {
    return undefined;
  }
  return Object.fromEntries(
    Object.entries(result.judge).map(([step, { executions }]) => [
      step,
      executions.map(({ status, attemptCount, modelCallCount, judgeModelId, usage, rawOutput }) =>
        strip({
          status,
          attemptCount,
          modelCallCount,
          judgeModelId,
          rawOutput,
          usage: usage && {
            inputTokens: usage.inputTokens,
            outputTokens: usage.outputTokens,
            totalTokens: usage.totalTokens,
          },
        }),
      ),
    ]),
  );
}

/** The recorded facts that are ours to equal. Class names of errors and lengths of prompts are the reference's own. */
export function expectedRun(result: unknown): Record<string, unknown> {
  const { calls: _calls, error, judge, ...facts } = result as Record<string, unknown>;
  const { name: _name, ...errorFacts } = (error ?? {}) as Record<string, unknown>;
  return strip({
    ...facts,
    error: error === undefined ? undefined : errorFacts,
    judge:
      judge === undefined ? undefined : expectedJudge(judge as Record<string, Record<string, unknown>[]>),
  });
}

function expectedJudge(judge: Record<string, Record<string, unknown>[]>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(judge).map(([step, executions]) => [
      step,
      executions.map(({ errorName: _errorName, ...facts }) => facts),
    ]),
  );
}

/** Leaves out what is undefined, and lists of nothing that some sections do not record. */
function strip(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}
