import type { z } from 'zod';
import type { AgentInput, AgentOutput } from '../domain/trace/messages.ts';
import { canonicalOptions, sourceVersion } from './canonical-options.ts';
import { runScorer } from './run-scorer.ts';
import type { RunDetails, ScorerPlan } from './run-scorer.ts';
import { ScorerError } from './scorer-error.ts';
import type { NewScorer } from './scorer-chain.ts';
import { STEP_NAMES } from './scorer.ts';
import type { ScoreLabel, ScorerRunInput, ScorerRunOptions, StepName } from './scorer.ts';
import type { JudgeConfig, StepContext, StepDefinition } from './scorer-steps.ts';
import type { Trajectory } from './trajectory/trajectory.ts';
import type { Unchecked } from './unchecked.ts';

/** Input type of the scorer: messages of an agent, a trajectory, or any two schemas. It only sets types. */
export type ScorerType = 'agent' | 'trajectory' | { readonly input: z.ZodType; readonly output: z.ZodType };

export interface ScorerConfig<
  TType extends ScorerType | undefined = undefined,
  TRun extends ScorerRunInput = ScorerRunInput<InputOf<TType>, OutputOf<TType>>,
> {
  /** Required. Name of the scorer in rows and rules, unless the configuration gives another name. */
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  readonly type?: TType;
  /** Judge of the prompt steps; a step may name another judge. */
  readonly judge?: JudgeConfig;
  /** Replaces the run before any step gets it; the result contains the replaced run too. */
  readonly prepareRun?: (run: TRun) => ScorerRunInput | Promise<ScorerRunInput>;
  readonly higherIsBetter?: boolean;
  /** Lowest and highest possible score; monitors need the range. */
  readonly range?: readonly [number, number];
  readonly labels?: readonly ScoreLabel[];
  /** Version of the scorer. Raise it whenever equal input may get another score. Default: a hash of the steps' source text. */
  readonly version?: string;
  /** Version of the prompts. Default: a hash of instructions and prompt functions, '' without prompts. */
  readonly promptVersion?: string;
  /** Options of the scorer; part of its fingerprint. */
  readonly options?: unknown;
  /** True: the result contains the named scores of `details` and no score of its own. Default false. */
  readonly namedScoresOnly?: boolean;
  /** Returns the verdicts and further named scores of a finished run. */
  readonly details?: (context: StepContext) => RunDetails;
}

/** Types of `run.input` and `run.output` by the type of the scorer; without a type, the types that the scorer accepts. */
export type InputOf<TType> = TType extends 'agent'
  ? AgentInput
  : TType extends { input: infer S extends z.ZodType }
    ? z.infer<S>
    : Unchecked;
export type OutputOf<TType> = TType extends 'agent'
  ? AgentOutput
  : TType extends 'trajectory'
    ? Trajectory
    : TType extends { output: infer S extends z.ZodType }
      ? z.infer<S>
      : Unchecked;

/**
 * Creates a scorer without steps. Chain `preprocess`, `analyze`, `generateScore` and `generateReason` in this order, each at
 * most once; `run` needs `generateScore`. Every call returns a new scorer and does not change the old one.
 */
export function createScorer<const TType extends ScorerType | undefined = undefined>(
  config: ScorerConfig<TType>,
): NewScorer<ScorerRunInput<InputOf<TType>, OutputOf<TType>>>;
/** Creates a scorer without steps, with named types of `run.input` and `run.output`. */
export function createScorer<TInput, TOutput>(
  config: ScorerConfig<undefined, ScorerRunInput<TInput, TOutput>>,
): NewScorer<ScorerRunInput<TInput, TOutput>>;
export function createScorer(config: AnyConfig): unknown {
  if (!config.id) {
    throw new ScorerError('A scorer needs an id: createScorer({ id: "my-scorer", … })', {
      id: 'MASTR_SCORER_FAILED_TO_CREATE_MISSING_ID',
    });
  }
  return chain(config, []);
}

type AnyConfig = ScorerConfig<ScorerType | undefined, ScorerRunInput>;
type Chain = Record<StepName, (definition: StepDefinition['run']) => unknown>;

function chain(config: AnyConfig, steps: readonly StepDefinition[]): Chain {
  const add = (name: StepName) => (definition: StepDefinition['run']) => {
    checkStep(config.id, steps, name, definition);
    return chain(config, [...steps, { name, run: definition }]);
  };
  const plan: ScorerPlan = {
    id: config.id,
    steps,
    judge: config.judge,
    labels: config.labels ?? [],
    prepareRun: config.prepareRun,
    details: config.details,
    namedScoresOnly: config.namedScoresOnly === true,
  };
  return Object.defineProperties(
    {
      preprocess: add('preprocess'),
      analyze: add('analyze'),
      generateScore: add('generateScore'),
      generateReason: add('generateReason'),
      run: (input: ScorerRunInput, options: ScorerRunOptions = {}) => runScorer(plan, input, options),
      getSteps: () => describeSteps(steps),
      toJSON: () => describe(config, steps),
      id: config.id,
      name: config.name ?? config.id,
      description: config.description ?? '',
      type: config.type,
      higherIsBetter: config.higherIsBetter ?? null,
      range: config.range ?? null,
      labels: plan.labels,
      judgeModel: nameJudgeModel(config, steps),
      source: 'code',
    },
    {
      // Not enumerable, so that neither JSON.stringify nor a log of the scorer shows the judge's model object.
      judge: { value: config.judge },
      config: { value: { ...config, name: config.name ?? config.id } },
      version: { get: () => config.version ?? sourceVersion(steps.map((step) => step.run)) },
      promptVersion: { get: () => config.promptVersion ?? derivedPromptVersion(config, steps) },
      options: { get: () => canonicalOptions(config.options ?? {}) },
    },
  );
}

function checkStep(
  id: string,
  steps: readonly StepDefinition[],
  name: StepName,
  definition: StepDefinition['run'],
): void {
  const last = steps.at(-1)?.name;
  let fault: string | undefined;
  if (last !== undefined && STEP_NAMES.indexOf(last) >= STEP_NAMES.indexOf(name)) {
    fault = `comes after ${last}; steps go ${STEP_NAMES.join(', ')}, each at most once`;
  } else if (typeof definition !== 'function' && typeof definition?.createPrompt !== 'function') {
    fault = 'needs a function or an object with description and createPrompt';
  }
  if (fault !== undefined) {
    throw new ScorerError(`Scorer "${id}": ${name} ${fault}`, {
      id: 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_STEPS',
      details: { scorerId: id, step: name },
    });
  }
}

function describeSteps(
  steps: readonly StepDefinition[],
): { name: StepName; type: string; description?: string }[] {
  return steps.map(({ name, run }) =>
    typeof run === 'function'
      ? { name, type: 'function' }
      : { name, type: 'prompt', description: run.description },
  );
}

/** Describes a scorer for the public: without model object, instructions and options. */
function describe(config: AnyConfig, steps: readonly StepDefinition[]): Record<string, unknown> {
  return {
    id: config.id,
    name: config.name ?? config.id,
    description: config.description ?? '',
    type: typeof config.type === 'object' ? 'schema' : config.type,
    judgeModel: nameJudgeModel(config, steps),
    steps: describeSteps(steps),
  };
}

function nameJudgeModel(config: AnyConfig, steps: readonly StepDefinition[]): string {
  const models = steps.flatMap(({ run }) =>
    typeof run === 'function' ? [] : [modelName(run.judge?.model ?? config.judge?.model)],
  );
  return [...new Set(models)].filter((name) => name !== '').join(',');
}

function modelName(model: JudgeConfig['model']): string {
  if (model === undefined || typeof model === 'string') {
    return model ?? '';
  }
  return `${model.provider}/${model.modelId}`;
}

function derivedPromptVersion(config: AnyConfig, steps: readonly StepDefinition[]): string {
  const prompts = steps.filter((step) => typeof step.run !== 'function');
  return prompts.length === 0
    ? ''
    : sourceVersion([
        config.judge?.instructions,
        prompts.map((step) => step.run),
        ...(config.judge?.task === undefined ? [] : [config.judge.task]),
      ]);
}
