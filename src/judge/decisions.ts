import { isRecord } from '../domain/unknown-values.ts';
import { JudgeError } from './judge-error.ts';
import type { JudgeExecution } from './judge-execution.ts';
import { type AnyQuestion, askOnce, type JudgeModel, openQuestion } from './judge.ts';
import { type DecisionQuestion, type Decisions, isDecisionModel } from './model-call.ts';
import type { SchemaVerdict } from './reply/judge-schema.ts';

export type { DecisionQuestion, Decisions } from './model-call.ts';

/** Most questions that a provider takes in one request. */
const MAX_QUESTIONS = 400;

/** Sums of probabilities may be off by so much where the provider declares no rounding. */
const UNROUNDED = 1e-6;
/** Error of a sum of floating-point numbers. */
const FLOAT_ERROR = 1e-9;

/**
 * Answer to one question: a probability for each option (of a score, each level by its number from 0; of a boolean, `true` and
 * `false`), and the likeliest. `refused`: the judge declined this question.
 */
export type DecisionAnswer =
  | { readonly refused: true }
  | {
      readonly refused?: false;
      readonly winner: string;
      /** Probability of the winner, as the provider sent it. */
      readonly probability: number;
      readonly probabilities: Readonly<Record<string, number>>;
    };

export type DecisionAnswers = Readonly<Record<string, DecisionAnswer>>;

export interface DecisionsQuestion extends AnyQuestion, Decisions {}

/**
 * Asks a decision judge typed questions about one state, in the fewest requests, and in halves of those that are too long for it. A malformed reply is asked for once more; a second
 * one is `judge_malformed`. Throws `JudgeError` with `execution`, also `judge_refused` where every question is declined.
 */
export async function askDecisions(
  model: JudgeModel,
  question: DecisionsQuestion,
): Promise<{ readonly value: DecisionAnswers; readonly execution: JudgeExecution }> {
  const { clean, ...bounds } = await openQuestion(model, question);
  const { judge } = bounds.deps;
  if (!isDecisionModel(judge.model)) {
    throw new JudgeError('judge_misconfigured', `${judge.name} is a chat judge, which decides nothing`);
  }
  const state = question.state.map((part) => cleanStrings(part, clean));
  const names = Object.keys(question.questions);
  const answers: Record<string, DecisionAnswer> = {};
  let execution = bounds.deps.tally.execution('success', '', 0);
  const askAbout = async (asked: readonly string[]): Promise<void> => {
    const questions = Object.fromEntries(
      asked.map((name) => [name, cleanStrings(question.questions[name] as DecisionQuestion, clean)]),
    );
    const decisions = { state, questions };
    const answered = await askOnce<DecisionAnswers>({
      ...bounds,
      system: '',
      prompt: showDecisions(decisions),
      decisions,
      schema: undefined,
      read: ({ text }) => readAnswers(text, questions),
      again: '',
    });
    Object.assign(answers, answered.value);
    ({ execution } = answered);
  };
  const askWithin = (asked: readonly string[]): Promise<void> =>
    askAbout(asked).catch(async (error: unknown) => {
      if (asked.length < 2 || !(error instanceof JudgeError) || error.code !== 'judge_window') {
        throw error;
      }
      const half = Math.ceil(asked.length / 2);
      await askWithin(asked.slice(0, half));
      await askWithin(asked.slice(half));
    });
  for (let start = 0; start < names.length; start += MAX_QUESTIONS) {
    await askWithin(names.slice(start, start + MAX_QUESTIONS));
  }
  if (names.length > 0 && Object.values(answers).every(({ refused }) => refused === true)) {
    const error = new JudgeError('judge_refused', 'the judge refused to answer: it declined every question');
    error.execution = { ...execution, status: 'failed' };
    throw error;
  }
  return { value: answers, execution };
}

/** Changes each text of a value; the names of its members stay. */
function cleanStrings<T>(value: T, clean: (text: string) => string): T {
  const change = (found: unknown): unknown => {
    if (typeof found === 'string') {
      return clean(found);
    }
    if (Array.isArray(found)) {
      return found.map(change);
    }
    return isRecord(found)
      ? Object.fromEntries(Object.entries(found).map(([name, member]) => [name, change(member)]))
      : found;
  };
  return change(value) as T;
}

/** Writes questions as the record of the call has them: the state, then a line for each question. */
function showDecisions({ state, questions }: Decisions): string {
  const parts = state.map((part) => (part.type === 'text' ? part.text : JSON.stringify(part.value)));
  const asked = Object.entries(questions).map(([name, question]) => {
    const options = question.type === 'boolean' ? '' : ` ${JSON.stringify(question.criteria)}`;
    return `${name}: ${question.instructions}${options}`;
  });
  return [...parts, asked.join('\n')].join('\n\n');
}

/** Reads the answers of a reply; a fault in words for a malformed one. */
function readAnswers(text: string, questions: Decisions['questions']): SchemaVerdict<DecisionAnswers> {
  const { answers, rounding } = JSON.parse(text) as { answers: unknown; rounding: unknown };
  const decimals = isRecord(rounding) ? rounding['probabilityDecimals'] : undefined;
  const step = typeof decimals === 'number' ? 0.5 * 10 ** -decimals : undefined;
  const given = isRecord(answers) ? answers : {};
  const strange = Object.keys(given).find((name) => !Object.hasOwn(questions, name));
  if (strange !== undefined) {
    return { ok: false, fault: `it answers "${strange}", which was not asked` };
  }
  const read: Record<string, DecisionAnswer> = {};
  for (const [name, question] of Object.entries(questions)) {
    const answer = Object.hasOwn(given, name) ? readAnswer(given[name], question, step) : 'it has no answer';
    if (typeof answer === 'string') {
      return { ok: false, fault: `question "${name}": ${answer}` };
    }
    read[name] = answer;
  }
  return { ok: true, value: read };
}

/** Reads one answer; returns a fault in words. */
function readAnswer(
  answer: unknown,
  question: DecisionQuestion,
  step: number | undefined,
): DecisionAnswer | string {
  if (!isRecord(answer)) {
    return 'it has no answer';
  }
  if (answer['type'] === 'refusal') {
    return { refused: true };
  }
  if (answer['type'] !== question.type) {
    return `its answer has the type ${JSON.stringify(answer['type']) ?? 'nothing'}, not ${question.type}`;
  }
  if (question.type === 'boolean') {
    const { probability: isTrue } = answer;
    return isShare(isTrue)
      ? decide({ true: isTrue, false: 1 - isTrue }, isTrue >= 0.5 ? 'true' : 'false')
      : `its probability is ${JSON.stringify(isTrue) ?? 'missing'}, not a number from 0 to 1`;
  }
  return readDistribution(answer, question, step);
}

/** Reads an answer that gives each option, or each level, a probability. */
function readDistribution(
  answer: Readonly<Record<string, unknown>>,
  question: Exclude<DecisionQuestion, { type: 'boolean' }>,
  step: number | undefined,
): DecisionAnswer | string {
  const options = Object.keys(question.criteria);
  const fault = findDistributionFault(answer['probabilities'], options, step);
  if (fault !== undefined) {
    return fault;
  }
  const probabilities = answer['probabilities'] as Record<string, number>;
  const likeliest = options.reduce((best, option) =>
    (probabilities[option] ?? 0) > (probabilities[best] ?? 0) ? option : best,
  );
  if (question.type === 'score') {
    return decide(probabilities, likeliest);
  }
  const { choice } = answer;
  if (typeof choice !== 'string' || !options.includes(choice)) {
    return `its choice is ${JSON.stringify(choice) ?? 'missing'}, which is no option`;
  }
  return (probabilities[choice] ?? 0) < (probabilities[likeliest] ?? 0)
    ? `its choice "${choice}" is less likely than "${likeliest}"`
    : decide(probabilities, choice);
}

function decide(probabilities: Readonly<Record<string, number>>, winner: string): DecisionAnswer {
  return { winner, probability: probabilities[winner] ?? 0, probabilities };
}

function isShare(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= 1;
}

/** Finds the fault of the probabilities of all options. Their sum may be off by the rounding of each. */
function findDistributionFault(
  found: unknown,
  options: readonly string[],
  step: number | undefined,
): string | undefined {
  if (!isRecord(found)) {
    return 'its answer has no probabilities';
  }
  const unknown = Object.keys(found).find((option) => !options.includes(option));
  if (unknown !== undefined) {
    return `it gives a probability to "${unknown}", which is no option`;
  }
  const missing = options.find((option) => !Object.hasOwn(found, option));
  if (missing !== undefined) {
    return `it gives no probability to "${missing}"`;
  }
  const values = options.map((option) => found[option]);
  const wrong = values.find((value) => !isShare(value));
  if (wrong !== undefined) {
    return `a probability is ${JSON.stringify(wrong)}, not a number from 0 to 1`;
  }
  const sum = (values as number[]).reduce((total, value) => total + value, 0);
  const slack = (step === undefined ? UNROUNDED : options.length * step) + FLOAT_ERROR;
  return Math.abs(sum - 1) > slack ? `its probabilities add up to ${sum.toFixed(4)}, not 1` : undefined;
}
