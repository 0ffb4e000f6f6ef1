import { sha256Hex } from '../../domain/identity.ts';
import type { z } from 'zod';
import type { AgentInput, AgentOutput } from '../../domain/trace/messages.ts';
import { runScorer, type RunDetails, type ScorerPlan } from './run-scorer.ts';
import { ScorerError } from './scorer-error.ts';
import {
  type NewScorer,
  STEP_NAMES,
  type ScoreLabel,
  type ScorerRunInput,
  type ScorerRunOptions,
  type StepName,
  type NamedScore,
  type Scorer,
  type JudgeConfig,
  type StepContext,
  type StepDefinition,
  type Unchecked,
  isNotScorable,
  type NotScorable,
} from './scorer.ts';
import type { Trajectory } from './trajectory.ts';
import type { OfferedTool, RetrievedDocument } from '../../domain/trace/agent-run.ts';
import type { Verdict } from '../../domain/score.ts';
import { isObject } from '../../domain/unknown-values.ts';

/** Deepest nesting of options that enters a fingerprint; deeper values all count as equal. */
const MAX_OPTION_DEPTH = 16;

/**
 * Writes options as plain JSON, so that equal configurations give equal text. Functions and regular expressions become their
 * source, class instances (a model object) their class name, sets and maps the list of their members. An object that contains
 * itself becomes '…'.
 */
export function canonicalOptions(value: unknown, ancestors: readonly object[] = []): unknown {
  if (typeof value === 'function') {
    return { function: Function.prototype.toString.call(value) };
  }
  if (typeof value === 'bigint' || typeof value === 'symbol') {
    return String(value);
  }
  return value === null || typeof value !== 'object' ? value : canonicalObject(value, ancestors);
}

function canonicalObject(value: object, ancestors: readonly object[]): unknown {
  if (ancestors.length >= MAX_OPTION_DEPTH || ancestors.includes(value)) {
    return '…';
  }
  const inside = [...ancestors, value];
  if (value instanceof RegExp || value instanceof Date) {
    return String(value);
  }
  if (Array.isArray(value) || value instanceof Set || value instanceof Map) {
    return [...value].map((item) => canonicalOptions(item, inside));
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    return { class: value.constructor.name };
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([key, member]) => [key, canonicalOptions(member, inside)]),
  );
}

/** Computes a short version for code or prompts without a version of their own: a hash of their source text. */
function sourceVersion(parts: unknown): string {
  const text = JSON.stringify(canonicalOptions(parts));
  return `src-${sha256Hex(text).slice(0, 8)}`;
}

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
  } else if (!isStep(definition)) {
    fault = 'needs a function or an object with description and createPrompt';
  }
  if (fault !== undefined) {
    throw new ScorerError(`Scorer "${id}": ${name} ${fault}`, {
      id: 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_STEPS',
      details: { scorerId: id, step: name },
    });
  }
}

function isStep(definition: StepDefinition['run'] | undefined): boolean {
  return (
    typeof definition === 'function' ||
    ['createPrompt', 'decide'].some((name) => typeof Object(definition)[name] === 'function')
  );
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

/** A run of an agent, as a rule passes it to a scorer. */
export interface TracedRun {
  /** Question to the agent: its messages, and the messages that the agent remembered. */
  readonly input: AgentInput;
  /** Answer of the agent: its messages with their tool calls. */
  readonly output: AgentOutput;
  /** Evidence: results of the agent's tools, then documents, as texts. */
  readonly context: readonly string[];
  readonly documents: readonly RetrievedDocument[];
  /** Tools that the agent's models could call; absent where the trace does not say. */
  readonly tools?: readonly OfferedTool[];
  /** Id of the score; a repeat has the same id. */
  readonly runId: string;
  readonly targetTraceId: string;
  readonly targetSpanId: string;
  /** `live`, `backfill` or `api` (`spanscore score`). */
  readonly scoreSource: string;
}

/** A score of a run. */
export interface OwnScore {
  /** A finite number. */
  readonly score: number;
  readonly reason?: string;
  /** Name of the score's band. Absent: the band comes from `labels`. */
  readonly label?: string;
  /** Findings on single statements, stored with the score. */
  readonly verdicts?: readonly Verdict[];
  /** Further scores of the same run, stored under `<scorer>/<name>`. */
  readonly scores?: readonly NamedScore[];
}

/** A scorer by code, for the default export of a module. */
export interface OwnScorer {
  readonly id: string;
  readonly description?: string;
  /** True when a high score is good; monitors need this. */
  readonly higherIsBetter?: boolean;
  /** Lowest and highest possible score; monitors need the range. */
  readonly range?: readonly [number, number];
  readonly labels?: readonly ScoreLabel[];
  /**
   * Version of the scorer. Raise it whenever an equal run may get another score. Absent: a hash of the source text of `run`.
   */
  readonly version?: string;
  /** Model that `run` asks; '' for none. Absent: unknown, so the run is redacted before the scorer gets it, as for a judge. */
  readonly judgeModel?: string;
  /** Scores a run. Returns `notScorable(reason)` for a run that cannot be scored. */
  readonly run: (
    run: TracedRun,
    options: { readonly abortSignal?: AbortSignal | undefined },
  ) => OwnScore | NotScorable | Promise<OwnScore | NotScorable>;
}

/** Creates a scorer from a function over a run, with types. Throws `ScorerError` when the id or `run` is missing. */
export function defineScorer(definition: OwnScorer): Scorer {
  if (!definition.id || typeof definition.run !== 'function') {
    throw new ScorerError('A scorer needs an id and run(): defineScorer({ id: "my-scorer", run: … })', {
      id: 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_OPTIONS',
    });
  }
  return {
    version: sourceVersion([definition.run]),
    ...definition,
    async run(input, options = {}) {
      const result = await definition.run(input as unknown as TracedRun, options);
      if (!isNotScorable(result)) {
        return { ...result };
      }
      const { reason } = result;
      return { notScorable: { step: 'generateScore', ...(reason === undefined ? {} : { reason }) } };
    },
  };
}

export interface FilterRunOptions {
  readonly dropRequestContext?: boolean;
  readonly dropExpectedTrajectory?: boolean;
  readonly dropGroundTruth?: boolean;
  /** Keeps messages with a part whose type starts with one of these. */
  readonly partTypes?: readonly string[];
  /** Of the messages that call tools, keeps those with a call of a tool whose name starts with one of these. */
  readonly toolNames?: readonly string[];
  /** Keeps the last n remembered messages; 0 or absent: no limit. */
  readonly maxRememberedMessages?: number;
  /** Keeps the last n output messages; 0 or absent: no limit. */
  readonly maxOutputMessages?: number;
}

/** Creates a `prepareRun` that removes messages from the run of a scorer. It keeps or drops whole messages. */
export function filterRun(options: FilterRunOptions): (run: ScorerRunInput) => ScorerRunInput {
  return (run) => {
    const filtered: ScorerRunInput = { ...run };
    for (const field of droppedFields(options)) {
      filtered[field] = undefined;
    }
    const { input, output } = run;
    if (isObject(input) && Array.isArray(input['rememberedMessages'])) {
      const remembered = narrow(input['rememberedMessages'], options, options.maxRememberedMessages);
      filtered.input = { ...input, rememberedMessages: remembered };
    }
    if (Array.isArray(output)) {
      filtered.output = narrow(output, options, options.maxOutputMessages);
    }
    return filtered;
  };
}

function droppedFields(options: FilterRunOptions): string[] {
  const fields: [boolean | undefined, string][] = [
    [options.dropRequestContext, 'requestContext'],
    [options.dropExpectedTrajectory, 'expectedTrajectory'],
    [options.dropGroundTruth, 'groundTruth'],
  ];
  return fields.filter(([drop]) => drop).map(([, field]) => field);
}

function narrow(messages: readonly unknown[], options: FilterRunOptions, max: number | undefined): unknown[] {
  const kept = messages.filter((message) => isKept(message, options));
  return max ? kept.slice(-max) : kept;
}

function isKept(message: unknown, { partTypes, toolNames }: FilterRunOptions): boolean {
  const parts = findParts(message);
  if (parts === undefined) {
    return true;
  }
  const hasType = partTypes === undefined || parts.some((part) => startsWithAny(part['type'], partTypes));
  const tools = parts.filter((part) => part['type'] === 'tool-invocation');
  if (tools.length === 0) {
    return hasType;
  }
  const hasTool =
    toolNames === undefined || tools.some((part) => startsWithAny(readToolName(part), toolNames));
  return hasType && hasTool;
}

function findParts(message: unknown): Record<string, unknown>[] | undefined {
  const content = isObject(message) ? message['content'] : undefined;
  const parts = isObject(content) ? content['parts'] : undefined;
  return Array.isArray(parts) ? parts.filter(isObject) : undefined;
}

function readToolName(part: Record<string, unknown>): unknown {
  const invocation = part['toolInvocation'];
  return isObject(invocation) ? invocation['toolName'] : undefined;
}

function startsWithAny(value: unknown, prefixes: readonly string[]): boolean {
  return typeof value === 'string' && prefixes.some((prefix) => value.startsWith(prefix));
}
