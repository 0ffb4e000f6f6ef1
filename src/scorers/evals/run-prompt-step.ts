import type { JudgeExecution } from '../../judge/judge-execution.ts';
import type { JudgeSchema, SchemaVerdict } from '../../judge/reply/judge-schema.ts';
import type { JudgeSettings } from '../../judge/judge.ts';
import { JudgeError } from '../../judge/judge-error.ts';
import { currentJudgeScope } from '../../judge/judge-scope.ts';
import {
  isNotScorable,
  type DecisionStep,
  type StepName,
  type ErasedPromptStep,
  type JudgeConfig,
  type StepContext,
  type OutputSchema,
  type SdkSchema,
  type StandardSchema,
} from './scorer.ts';
import { ScorerError } from './scorer-error.ts';

const schemas = new WeakMap<object, Promise<JudgeSchema<unknown>>>();

/** Result of a prompt step; without a prompt when it needed no judge. */
interface PromptOutcome {
  readonly value: unknown;
  readonly prompt?: string;
}

interface PromptStepDeps {
  readonly scorerId: string;
  readonly scorerJudge: JudgeConfig | undefined;
  /** Called after every question, also after a failed one. */
  onExecution(execution: JudgeExecution): void;
}

/** Asks the judge the question of a prompt step: for an object, a score or a text, depending on the name of the step. */
export async function runPromptStep(
  name: StepName,
  step: ErasedPromptStep | DecisionStep<StepContext, unknown>,
  context: StepContext,
  deps: PromptStepDeps,
): Promise<PromptOutcome> {
  if ('decide' in step) {
    return { value: await runDecisionStep(name, step, context, deps) };
  }
  const known = await step.withoutJudge?.(context);
  if (known !== undefined) {
    return { value: known };
  }
  const prompt = await step.createPrompt(context);
  if (isNotScorable(prompt)) {
    return { value: prompt };
  }
  const { instructions, task, modelSettings, ...named } = {
    ...deps.scorerJudge,
    ...definedFields(step.judge),
  };
  const model = named.model ?? currentJudgeScope().judges?.defaultModel;
  if (model === undefined || !instructions) {
    throw new ScorerError(
      `Step ${name} of scorer "${deps.scorerId}" asks a judge, but has no ${model === undefined ? 'model' : 'instructions'}: ` +
        'set judge.model and judge.instructions on the scorer or on the step',
      {
        id: 'MASTR_SCORER_FAILED_TO_RUN_MISSING_MODEL_OR_INSTRUCTIONS',
        details: { scorerId: deps.scorerId, step: name },
      },
    );
  }
  const settings: JudgeSettings = { ...modelSettings };
  if (context.abortSignal !== undefined) {
    settings.abortSignal = context.abortSignal;
  }
  // Loaded with the first question, so that scorers without a judge start faster.
  const { askForObject, askForText } = await import('../../judge/judge.ts');
  const askAbout = async (asked: string): Promise<PromptOutcome> => {
    const question = { instructions, prompt: asked, task, settings, step: name };
    const ask = <T>(schema: JudgeSchema<T>): Promise<T> =>
      reportFailure(askForObject(model, { ...question, schema }), deps);
    if (name === 'generateReason') {
      return { prompt: asked, value: await reportFailure(askForText(model, question), deps) };
    }
    const value =
      name === 'generateScore'
        ? await askForScore(step, context, ask)
        : await ask(await chooseSchema(name, step, context));
    return { prompt: asked, value };
  };
  return askAbout(prompt).catch(async (error: unknown) => {
    const shorter = isTooLong(error) ? await buildAnew(step, context) : undefined;
    if (typeof shorter !== 'string' || shorter.length >= prompt.length) {
      throw error;
    }
    return askAbout(shorter);
  });
}

/** Asks a decision judge. A state that is longer than its window is built anew, once, when that makes it shorter. */
async function runDecisionStep(
  name: StepName,
  step: DecisionStep<StepContext, unknown>,
  context: StepContext,
  deps: PromptStepDeps,
): Promise<unknown> {
  const { model = currentJudgeScope().judges?.defaultModel, modelSettings } = {
    ...deps.scorerJudge,
    ...definedFields(step.judge),
  };
  const form = await step.decide(context);
  if (isNotScorable(form)) {
    return form;
  }
  const { askDecisions } = await import('../../judge/decisions.ts');
  const settings: JudgeSettings = { ...modelSettings, abortSignal: context.abortSignal };
  const ask = async ({ state, questions, read, next }: typeof form): Promise<unknown> => {
    const question = { state, questions, settings, step: name };
    const found = read(await reportFailure(askDecisions(model ?? '', question), deps));
    const further = isNotScorable(found) ? undefined : next?.(found);
    return further === undefined ? found : ask(further).catch(() => found);
  };
  return ask(form).catch(async (error: unknown) => {
    const shorter = isTooLong(error) ? await step.decide(context) : undefined;
    const isShorter =
      shorter !== undefined &&
      !isNotScorable(shorter) &&
      JSON.stringify(shorter.state).length < JSON.stringify(form.state).length;
    if (!isShorter) {
      throw error;
    }
    return ask(shorter);
  });
}

/** True for a question that is longer than the judge's window. */
function isTooLong(error: unknown): boolean {
  return error instanceof JudgeError && error.code === 'judge_window';
}

/** Builds a prompt once more, when the window of the judge is known better: steps that select evidence write a shorter one. */
async function buildAnew(step: ErasedPromptStep, context: StepContext): Promise<unknown> {
  await step.withoutJudge?.(context);
  return step.createPrompt(context);
}

async function reportFailure<T>(
  asked: Promise<{ value: T; execution: JudgeExecution }>,
  deps: PromptStepDeps,
): Promise<T> {
  try {
    const { value, execution } = await asked;
    deps.onExecution(execution);
    return value;
  } catch (error) {
    if (error instanceof JudgeError && error.execution !== undefined) {
      deps.onExecution(error.execution);
    }
    throw error;
  }
}

async function chooseSchema(
  name: StepName,
  step: ErasedPromptStep,
  context: StepContext,
): Promise<JudgeSchema<unknown>> {
  const { outputSchema: given } = step;
  const schema = isSchema(given) ? given : given(context);
  if (schema === undefined) {
    throw new ScorerError(`The prompt of step ${name} needs an outputSchema`, {
      id: 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_OPTIONS',
    });
  }
  return toJudgeSchema(schema);
}

async function askForScore(
  step: ErasedPromptStep,
  context: StepContext,
  ask: <T>(schema: JudgeSchema<T>) => Promise<T>,
): Promise<unknown> {
  if (step.outputSchema === undefined && step.calculateScore === undefined) {
    return (await ask(SCORE_SCHEMA)).score;
  }
  const reply =
    step.outputSchema === undefined
      ? await ask(SCORE_SCHEMA)
      : await ask(await chooseSchema('generateScore', step, context));
  if (step.calculateScore !== undefined) {
    return step.calculateScore({ ...context, analyzeStepResult: reply });
  }
  return typeof reply === 'object' && reply !== null && 'score' in reply ? reply.score : reply;
}

const SCORE_SCHEMA: JudgeSchema<{ score: number }> = {
  jsonSchema: {
    type: 'object',
    properties: { score: { type: 'number' } },
    required: ['score'],
    additionalProperties: false,
  },
  validate: readScore,
};

function readScore(value: unknown): SchemaVerdict<{ score: number }> {
  const score = typeof value === 'object' && value !== null && 'score' in value ? value.score : undefined;
  return typeof score === 'number' && Number.isFinite(score)
    ? { ok: true, value: { score } }
    : { ok: false, fault: 'the reply needs a field "score" that is a number' };
}

/** Lists the fields that a step sets; for a field that is missing or undefined, the scorer's own value is used. */
function definedFields(judge: JudgeConfig | undefined): JudgeConfig {
  return Object.fromEntries(Object.entries(judge ?? {}).filter(([, value]) => value !== undefined));
}

/** Returns true for a schema, and false for a function that returns one: some schemas are functions too. */
function isSchema<T>(schema: T): schema is Exclude<T, (...args: never[]) => unknown> {
  return typeof schema !== 'function' || '~standard' in schema;
}

/**
 * Converts a schema to the form that the judge uses, once for each schema. Throws `ScorerError` for a schema that cannot be
 * used.
 */
function toJudgeSchema(schema: OutputSchema<unknown>): Promise<JudgeSchema<unknown>> {
  const made = schemas.get(schema) ?? convert(schema);
  schemas.set(schema, made);
  return made;
}

async function convert(schema: OutputSchema<unknown>): Promise<JudgeSchema<unknown>> {
  if ('safeParse' in schema) {
    return schema as JudgeSchema<unknown>;
  }
  if ('~standard' in schema) {
    return standard(schema as StandardSchema<unknown>);
  }
  if ('_type' in schema && 'jsonSchema' in schema) {
    return { jsonSchema: await (schema as SdkSchema<unknown>).jsonSchema };
  }
  return 'jsonSchema' in schema ? (schema as JudgeSchema<unknown>) : { jsonSchema: schema };
}

function standard(schema: StandardSchema<unknown>): JudgeSchema<unknown> {
  const { '~standard': props } = schema;
  const validate = (value: unknown): SchemaVerdict<unknown> => {
    const result = props.validate(value);
    if (result instanceof Promise) {
      throw new ScorerError(
        `The outputSchema of ${props.vendor} checks asynchronously; give one that answers at once, or a JSON Schema`,
        { id: 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_OPTIONS' },
      );
    }
    return result.issues === undefined
      ? { ok: true, value: result.value }
      : { ok: false, fault: `it does not match the schema (${result.issues.map(messageIn).join('; ')})` };
  };
  const jsonSchema = props.jsonSchema?.input({ target: 'draft-2020-12' });
  return jsonSchema === undefined ? asParser(validate) : { jsonSchema, validate };
}

/** Wraps a schema that has no JSON form: the schema is not sent to the model, it only checks the reply. */
function asParser(validate: (value: unknown) => SchemaVerdict<unknown>): JudgeSchema<unknown> {
  return {
    safeParse(value) {
      const verdict = validate(value);
      return verdict.ok
        ? { success: true, data: verdict.value }
        : { success: false, error: { issues: [{ path: [], message: verdict.fault }] } };
    },
  };
}

function messageIn({ message }: { readonly message: string }): string {
  return message;
}
