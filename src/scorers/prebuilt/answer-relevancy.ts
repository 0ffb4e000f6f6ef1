import { allBegin, formatPart } from '../../domain/plural.ts';
import { notScorable, type RunnableScorer } from '../evals/scorer.ts';
import { showConversation, type Sight } from '../shared/run-evidence.ts';
import { readAnswer, readQuestion, type AgentRunInput, type AnswerRunInput } from '../shared/messages.ts';
import { withDecidedQuality } from '../shared/decided.ts';
import { checkOptions } from '../shared/options.ts';
import { nameFindings } from '../shared/texts.ts';
import { type JudgedConfig, type JudgedOptions } from '../shared/judged.ts';
import { createStatementScorer, type Finding } from '../shared/statements.ts';
import { ANSWER_RELEVANCY_OPTIONS } from './definitions.ts';

/** Raise with every change of the wording below. */
const ANSWER_RELEVANCY_PROMPT_VERSION = '7';

/** Question which statements an answer makes; the material is `{ answer }`. */
const RELEVANCY_STATEMENT_INSTRUCTIONS = `List the statements of the answer: each thing that it says, one at a time, so worded that it can be read alone, in the language of the answer. Advice, refusals and questions back count too; greetings, thanks and courtesies do not. If nothing is left, the list is empty.`;

/** Meaning of the verdicts; the material is `{ earlier?, question, statements: { 1: statement, … } }`. */
const RELEVANCY_VERDICT_INSTRUCTIONS = `Decide for each numbered statement whether it helps with what the user asked; earlier is the conversation before.
direct: it answers the question or a part of it.
indirect: it does so indirectly: background, a caution, a step on the way, a question that is needed.
beside: the user would miss nothing without it.
Whether it is true is not asked. A wrong or outdated statement on the subject is relevant.`;

const ID = 'answer-relevancy-scorer';

export interface AnswerRelevancyOptions extends JudgedOptions, Sight {
  /** Weight of a statement that helps indirectly, 0 to 1. Default 0.3. */
  readonly uncertaintyWeight?: number;
}

/** Default options of `createAnswerRelevancyScorer`. */
export const DEFAULT_OPTIONS = { uncertaintyWeight: 0.3, scale: 1 } as const;

/**
 * Scores the share of the answer's statements that are about the question: `scale` for all, 0 for none. An empty answer is 0.
 */
export function createAnswerRelevancyScorer(
  config: JudgedConfig<AnswerRelevancyOptions>,
): RunnableScorer<AnswerRunInput> {
  const { model, options = {} } = config;
  checkOptions(ID, options, ANSWER_RELEVANCY_OPTIONS);
  const {
    scale = DEFAULT_OPTIONS.scale,
    uncertaintyWeight = DEFAULT_OPTIONS.uncertaintyWeight,
    reason = 'judge',
  } = options;
  const unfit = (run: AgentRunInput) =>
    readQuestion(run).trim() === '' ? notScorable('the run holds no question of a user') : undefined;
  const chat = createStatementScorer(
    {
      id: ID,
      name: 'Answer Relevancy Scorer',
      description: 'How much of the answer is about the question',
      higherIsBetter: true,
      labels: () => [{ label: 'off-topic', below: scale / 2 }, { label: 'relevant' }],
      noun: 'statement',
      nouns: 'statements',
      statementInstructions: RELEVANCY_STATEMENT_INSTRUCTIONS,
      source: (run) => ({ name: 'answer', text: readAnswer(run) }),
      unfit,
      verdicts: { direct: 'yes', indirect: 'unsure', beside: 'no' },
      form: { list: 'results', field: 'result', quotes: false },
      repeatStatements: false,
      verdictInstructions: RELEVANCY_VERDICT_INSTRUCTIONS,
      evidence: ({ run }) => showConversation(run, options),
      promptVersion: ANSWER_RELEVANCY_PROMPT_VERSION,
      share: (verdicts) => {
        const direct = verdicts.filter((verdict) => verdict === 'direct').length;
        const indirect = verdicts.filter((verdict) => verdict === 'indirect').length;
        return (direct + uncertaintyWeight * indirect) / verdicts.length;
      },
      unscorableWithoutStatements: 'the answer says nothing that could be relevant',
      about:
        'It tells how much of an answer is about the question: direct statements count in full, indirect ones in part, times the scale; the scale itself is best.',
      explain,
    },
    { model, scale, reason, options: { ...options, uncertaintyWeight } },
  );
  return withDecidedQuality(chat, 'relevancy', {
    model,
    scale,
    hasReasons: reason !== false,
    worth: { direct: 1, indirect: uncertaintyWeight, beside: 0 },
    unfit,
    show: (run) => showConversation(run, options),
  });
}

function explain(findings: readonly Finding[]): string {
  if (findings.length === 0) {
    return 'The answer says nothing.';
  }
  const beside = findings.filter(({ verdict }) => verdict !== 'direct');
  return beside.length === 0
    ? `${allBegin(findings.length, 'statement', ['is', 'are'])} about the question.`
    : `${formatPart(findings.length - beside.length, findings.length, 'statement')} answer the question directly; not: ${nameFindings(beside)}.`;
}
