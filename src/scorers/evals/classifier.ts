import { JudgeError } from '../../judge/judge-error.ts';
import { configuredJudges } from '../../judge/judge-registry.ts';
import { currentJudgeScope } from '../../judge/judge-scope.ts';
import { isObject } from '../../domain/unknown-values.ts';
import { createScorer, type InputOf, type OutputOf, type ScorerType } from './create-scorer.ts';
import { ScorerError } from './scorer-error.ts';
import type { RunnableScorer, ScorerRunInput, StepContext } from './scorer.ts';

/** A JSON value: a text, an object or a list. */
type Json = string | object;

/** Question of a classifier: one of several options, a level, or whether something is so. */
export type ClassifierQuestion =
  | {
      readonly type: 'choice';
      readonly instructions?: Json;
      readonly criteria: Readonly<Record<string, Json | null>>;
    }
  | { readonly type: 'score'; readonly instructions?: Json; readonly criteria: readonly (Json | null)[] }
  | {
      readonly type: 'boolean';
      readonly instructions?: Json;
      readonly criteria?: { readonly true?: Json | null; readonly false?: Json | null };
    };

export type ClassifierQuestions = Readonly<Record<string, ClassifierQuestion>>;

export type ClassifierAnswer =
  | {
      readonly type: 'choice';
      readonly choice: string;
      readonly probabilities?: Readonly<Record<string, number>>;
    }
  | {
      readonly type: 'score';
      readonly score: number;
      readonly probabilities?: Readonly<Record<string, number>>;
    }
  | { readonly type: 'boolean'; readonly probability: number };

export interface ClassifierUsage {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly totalTokens: number;
}

/** Answers of a classifier to all its questions about one state. */
export interface ClassifierResult {
  readonly answers: Readonly<Record<string, ClassifierAnswer>>;
  readonly usage: ClassifierUsage;
  readonly warnings: readonly unknown[];
  readonly rounding?: object | undefined;
  readonly providerMetadata?: object | undefined;
  readonly response: { readonly id?: string | undefined; readonly timestamp: Date; readonly modelId: string };
}

export interface EvaluateOptions {
  /** JSON value that the questions are about. */
  readonly state: unknown;
  readonly maxRetries?: number | undefined;
  readonly providerOptions?: object | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/** A classifier with its questions: ours, or one of another library. */
export interface AnyClassifier<Questions extends ClassifierQuestions = ClassifierQuestions> {
  readonly id: string;
  readonly questions: Questions;
  evaluate(options: EvaluateOptions): PromiseLike<unknown>;
}

/** An evaluation or decision model object of the AI SDK (specification v4). */
export interface ClassifierModelObject {
  readonly provider: string;
  readonly modelId: string;
  readonly supportedQuestionTypes?: readonly string[];
  // `never` accepts the parameter types of every version.
  doEvaluate?(options: never): PromiseLike<unknown>;
  doDecide?(options: never): PromiseLike<unknown>;
}

/** Error of a classifier or a scorer that cannot be made. */
function refuse(message: string): ScorerError {
  return new ScorerError(message, { id: 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_OPTIONS' });
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) && !Array.isArray(value);

/** Finds the first fault of a question, as the end of a sentence about it. */
function findQuestionFault(question: unknown, supported: readonly string[] | undefined): string | undefined {
  const { type, criteria } = isRecord(question) ? question : {};
  if (type !== 'choice' && type !== 'score' && type !== 'boolean') {
    return 'needs the type choice, score or boolean';
  }
  if (supported?.includes(type) === false) {
    return `has the type ${type}, which its model does not answer`;
  }
  return findCriteriaFault(type, criteria);
}

function findCriteriaFault(type: ClassifierQuestion['type'], criteria: unknown): string | undefined {
  if (type === 'score') {
    const isFull = Array.isArray(criteria) && criteria.length >= 2 && !criteria.includes(undefined);
    return isFull ? undefined : 'needs criteria: a list of at least 2 levels';
  }
  const names = isRecord(criteria) ? Object.keys(criteria) : undefined;
  if (type === 'choice') {
    const isFull = names !== undefined && names.length > 0 && !names.includes('');
    return isFull ? undefined : 'needs criteria: an object of named options';
  }
  const isSound = criteria === undefined || names?.every((name) => name === 'true' || name === 'false');
  return isSound === true ? undefined : 'may have criteria for true and false only';
}

/** Typed questions to an evaluation or decision model, asked together about one state. */
export class Classifier<
  const Questions extends ClassifierQuestions = ClassifierQuestions,
> implements AnyClassifier<Questions> {
  readonly id: string;
  readonly model: string | ClassifierModelObject;
  readonly questions: Questions;

  /** @throws ScorerError for a missing id or model, and for questions that no model can answer */
  constructor({
    id,
    model,
    questions,
  }: {
    readonly id: string;
    /** `provider/model` of the configured judges, or a model object. */
    readonly model: string | ClassifierModelObject;
    readonly questions: Questions;
  }) {
    if (typeof id !== 'string' || id.trim() === '') {
      throw refuse('A classifier needs an id: new Classifier({ id: "my-classifier", … })');
    }
    if (typeof model !== 'string' && !isModel(model)) {
      throw refuse(
        `Classifier "${id}" needs a model: provider/model, or an object with doEvaluate or doDecide`,
      );
    }
    if (!isRecord(questions) || Object.keys(questions).length === 0) {
      throw refuse(`Classifier "${id}" needs questions: an object with at least one question`);
    }
    const supported = typeof model === 'string' ? undefined : model.supportedQuestionTypes;
    for (const [name, question] of Object.entries(questions)) {
      const fault = name === '' ? 'needs a name' : findQuestionFault(question, supported);
      if (fault !== undefined) {
        throw refuse(`Question "${name}" of classifier "${id}" ${fault}`);
      }
    }
    this.id = id;
    this.model = model;
    this.questions = questions;
  }

  /** Asks all questions about a state. Throws for answers that do not fit the questions, and for a refused question. */
  async evaluate(options: EvaluateOptions): Promise<ClassifierResult> {
    const { state, maxRetries, abortSignal, providerOptions } = options;
    if (JSON.stringify(state) === undefined) {
      throw new TypeError(`The state for classifier "${this.id}" is no JSON value`);
    }
    const model = await openModel(this.model);
    const questions = Object.fromEntries(
      Object.entries(this.questions).map(([name, question]) => [
        name,
        { ...question, instructions: question.instructions ?? name },
      ]),
    );
    // The package is large: programs without a classifier do not load it.
    const { experimental_decide: decide } = await import('ai');
    let warnings: readonly unknown[] = [];
    const adapted = {
      specificationVersion: 'v4',
      provider: model.provider,
      modelId: model.modelId,
      supportedQuestionTypes: ['choice', 'score', 'boolean'],
      async doDecide() {
        const reply = await askModel(model, { state, questions, abortSignal, providerOptions });
        warnings = Array.isArray(reply['warnings']) ? reply['warnings'] : [];
        return { ...reply, warnings: [] };
      },
    };
    const { usage, ...result } = await decide({
      model: adapted as unknown as Parameters<typeof decide>[0]['model'],
      // Only checked: the model gets the state as it is.
      state: (typeof state === 'string' ? state : { state }) as string,
      questions: questions as Parameters<typeof decide>[0]['questions'],
      ...(maxRetries === undefined ? {} : { maxRetries }),
      ...(abortSignal === undefined ? {} : { abortSignal }),
    });
    const { inputTokens, outputTokens } = usage;
    const totalTokens = (inputTokens ?? 0) + (outputTokens ?? 0);
    if (!Number.isFinite(totalTokens)) {
      throw new JudgeError(
        'judge_malformed',
        `the model of classifier "${this.id}" counted tokens that are no numbers`,
      );
    }
    return { ...result, usage: { inputTokens, outputTokens, totalTokens }, warnings } as ClassifierResult;
  }
}

function isModel(model: unknown): model is ClassifierModelObject {
  return (
    isObject(model) && (typeof model['doEvaluate'] === 'function' || typeof model['doDecide'] === 'function')
  );
}

/** Opens the model of a configured judge. */
async function openModel(model: string | ClassifierModelObject): Promise<ClassifierModelObject> {
  if (typeof model !== 'string') {
    return model;
  }
  const judges = currentJudgeScope().judges ?? configuredJudges();
  const { model: opened } = await judges.resolve(model);
  if (!isModel(opened)) {
    throw new JudgeError('judge_misconfigured', `${model} answers no typed questions: name a decision judge`);
  }
  return opened;
}

interface Asked {
  readonly state: unknown;
  readonly questions: object;
  readonly abortSignal: AbortSignal | undefined;
  readonly providerOptions: object | undefined;
}

/** Asks a model once. A decision model takes its state in parts. */
async function askModel(
  model: ClassifierModelObject,
  { state, ...asked }: Asked,
): Promise<Readonly<Record<string, unknown>>> {
  const part = typeof state === 'string' ? { type: 'text', text: state } : { type: 'json', value: state };
  const reply = await (model.doEvaluate === undefined
    ? model.doDecide?.({ ...asked, state: [part] } as never)
    : model.doEvaluate({ ...asked, state } as never));
  if (!isRecord(reply)) {
    throw new JudgeError('judge_malformed', `the model ${model.modelId} returned no answers`);
  }
  return reply;
}

/** Evidence of a score: the answer to its question, and what the model said beside it. */
export interface ClassifierEvidence extends Omit<ClassifierResult, 'answers'> {
  readonly question: string;
  readonly answer: ClassifierAnswer;
}

export interface ClassifierScorerOptions<
  Questions extends ClassifierQuestions,
  TType extends ScorerType | undefined,
> {
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  readonly type?: TType;
  readonly prepareRun?: (
    run: ScorerRunInput<InputOf<TType>, OutputOf<TType>>,
  ) => ScorerRunInput | Promise<ScorerRunInput>;
  /** A classifier. An id of one needs the registry of the framework that registers classifiers: it is refused when the scorer runs. */
  readonly classifier: AnyClassifier<Questions> | string;
  /** Name of the question whose answer is the score. */
  readonly question: Extract<keyof Questions, string>;
  /** Returns the JSON value that the questions are about. */
  readonly state: (context: StepContext<ScorerRunInput<InputOf<TType>, OutputOf<TType>>, object>) => unknown;
  /** Score from 0 to 1 of each option of a choice. */
  readonly scores?: Readonly<Record<string, number>>;
  readonly maxRetries?: number;
  readonly providerOptions?: object;
}

/**
 * Creates a scorer from one question of a classifier: the probability of a boolean, the level of a score as a part of the highest
 * one, or the score of the chosen option. Throws `ScorerError` for options that cannot give a score.
 */
export function createClassifierScorer<
  const Questions extends ClassifierQuestions = ClassifierQuestions,
  const TType extends ScorerType | undefined = undefined,
>(
  options: ClassifierScorerOptions<Questions, TType>,
): RunnableScorer<
  ScorerRunInput<InputOf<TType>, OutputOf<TType>>,
  { analyzeStepResult: ClassifierEvidence }
> {
  const { id, name, type, prepareRun, classifier, question, scores, state, maxRetries, providerOptions } =
    options;
  const asked = typeof classifier === 'string' ? undefined : findQuestion(classifier, options);
  return createScorer<TType>({
    id,
    ...(name === undefined ? {} : { name }),
    description: options.description ?? `Answer of a classifier to the question "${question}"`,
    ...(type === undefined ? {} : { type }),
    ...(prepareRun === undefined ? {} : { prepareRun }),
    range: [0, 1],
    options: { question: asked, named: question, scores, state },
  })
    .analyze(async (context): Promise<ClassifierEvidence> => {
      if (typeof classifier === 'string') {
        throw new TypeError(
          `the classifier "${classifier}" is named by its id, which needs Mastra: pass the classifier itself`,
        );
      }
      const { abortSignal } = context;
      const result = (await classifier.evaluate({
        state: await state(context),
        maxRetries,
        providerOptions,
        ...(abortSignal === undefined ? {} : { abortSignal }),
      })) as ClassifierResult;
      const answer = result.answers[question];
      if (answer === undefined) {
        throw new TypeError(`the classifier "${classifier.id}" did not answer the question "${question}"`);
      }
      const { usage, warnings, rounding, providerMetadata, response } = result;
      const { id: responseId, timestamp, modelId } = response;
      const said = { id: responseId, timestamp, modelId };
      return { question, answer, usage, warnings, rounding, providerMetadata, response: said };
    })
    .generateScore(({ results }) => computeScore(results.analyzeStepResult, asked, scores))
    .generateReason(({ results, score }) => writeReason(results.analyzeStepResult, score));
}

/** Finds the question of a scorer. Throws `ScorerError` where its answer gives no score. */
function findQuestion(
  { id: classifierId, questions }: AnyClassifier,
  {
    id,
    question: name,
    scores,
  }: Pick<ClassifierScorerOptions<never, never>, 'id' | 'scores'> & { readonly question: string },
): ClassifierQuestion {
  const question = isObject(questions) && Object.hasOwn(questions, name) ? questions[name] : undefined;
  if (question === undefined) {
    throw refuse(`Scorer "${id}": the classifier "${classifierId}" has no question "${name}"`);
  }
  if (question.type !== 'choice') {
    if (scores !== undefined) {
      throw refuse(`Scorer "${id}": scores belong to a choice, and "${name}" is a ${question.type}`);
    }
    return question;
  }
  const given: Readonly<Record<string, unknown>> = isObject(scores) ? scores : {};
  const choices = Object.keys(question.criteria);
  const wrong = choices.filter(
    (choice) => !isShare(Object.hasOwn(given, choice) ? given[choice] : undefined),
  );
  const unknown = Object.keys(given).filter((choice) => !choices.includes(choice));
  if (wrong.length > 0 || unknown.length > 0) {
    const needed = wrong.length > 0 ? `; needs a number from 0 to 1 for ${wrong.join(', ')}` : '';
    const surplus = unknown.length > 0 ? `; has no option ${unknown.join(', ')}` : '';
    throw refuse(`Scorer "${id}": scores of the choice "${name}" do not fit${needed}${surplus}`);
  }
  return question;
}

function isShare(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 1;
}

/** Computes the score of an answer. Throws for an answer that is none of the question's. */
function computeScore(
  { question: name, answer }: ClassifierEvidence,
  question: ClassifierQuestion | undefined,
  scores: Readonly<Record<string, number>> = {},
): number {
  const isFitting = question?.type === answer.type;
  const score = !isFitting
    ? undefined
    : answer.type === 'choice'
      ? scores[answer.choice]
      : answer.type === 'score' && question.type === 'score'
        ? answer.score / (question.criteria.length - 1)
        : answer.type === 'boolean'
          ? answer.probability
          : undefined;
  if (!isShare(score)) {
    throw new TypeError(`the answer to the question "${name}" gives no score: ${JSON.stringify(answer)}`);
  }
  return score;
}

function writeReason({ question, answer }: ClassifierEvidence, score: number): string {
  if (answer.type === 'choice') {
    return `"${question}" was answered with "${answer.choice}", which scores ${score}.`;
  }
  return answer.type === 'score'
    ? `"${question}" was answered with the level ${answer.score}.`
    : `"${question}" is true with probability ${answer.probability}.`;
}
