import type { JsonJudgeSchema } from '../../judge/reply/judge-schema.ts';
import { UNCHECKED, isChecked, tellUnchecked } from './sentences.ts';
import { byNumber, askAfterData, fence, judgeAfterData, withReason, type ReasonMode } from './judged.ts';
import { mapped, member, replyForm, unasked, withOthers } from './reply-form.ts';
import {
  type NotScorable,
  isNotScorable,
  notScorable,
  type ScoreLabel,
  type RunnableScorer,
} from '../evals/scorer.ts';
import type { AgentRunInput } from './messages.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { JudgeModel } from '../../judge/judge.ts';
import { roundToTwoDecimals } from './texts.ts';
import { quotedPart } from './run-evidence.ts';

/** The judge's finding on one numbered statement. */
interface StatementVerdict<TVerdict extends string = string> {
  /** Present only when the scorer repeats the statement. */
  statement?: string;
  verdict: TVerdict;
  reason?: string;
  /** Excerpt of the evidence, in the judge's copy. */
  quote?: string;
}

export interface VerdictsReply<TVerdict extends string = string> {
  /** One verdict for each statement, in their order. */
  verdicts: StatementVerdict<TVerdict>[];
}

/** Statements to judge, and the allowed verdicts. */
interface VerdictsRequest<TVerdict extends string = string> {
  readonly statements: readonly string[];
  readonly allowed: readonly TVerdict[];
  /** Words of the reference that are read, too. */
  readonly also?: readonly TVerdict[];
  /** True when each entry of the reply repeats its statement. */
  readonly repeatStatements: boolean;
  /** The verdicts that become `unchecked`, because evidence was left out. */
  readonly unread?: readonly string[] | undefined;
  /** True when an empty list is a reply, too: nothing was found. */
  readonly mayBeEmpty?: boolean;
}

/** Names of the fields of a reply. */
interface VerdictsForm {
  readonly list: 'verdicts' | 'results';
  /** The verdict of an entry. */
  readonly field: 'verdict' | 'result';
  /** True when each verdict has a quote of the evidence. */
  readonly quotes: boolean;
  /** True when each verdict has a reason. Default true. */
  readonly reasons?: boolean;
}

/** A reply whose fields have the names of its form. */
type FormedReply = Record<string, Record<string, string>[]>;

/**
 * Form with exactly one verdict out of `allowed` for each statement. Entries are matched by number; a reply without any
 * numbers is read by position when its length is right. Any other reply is malformed.
 */
export function verdictsForm<TVerdict extends string>(
  request: VerdictsRequest<TVerdict>,
): JsonJudgeSchema<VerdictsReply<TVerdict>> {
  const form: VerdictsForm = { list: 'verdicts', field: 'verdict', quotes: true };
  return namedVerdictsForm(request, form) as JsonJudgeSchema<object> as JsonJudgeSchema<
    VerdictsReply<TVerdict>
  >;
}

/**
 * Like `verdictsForm`, with other field names. Members that the judge adds stay in the result of the step, as in the
 * reference.
 */
function namedVerdictsForm(
  { statements, allowed, also, repeatStatements, unread, mayBeEmpty }: VerdictsRequest,
  { list, field, quotes, reasons = true }: VerdictsForm,
): JsonJudgeSchema<FormedReply> {
  const why = { ...member.textIfAny, explains: true };
  const entries = member.numbered(
    { count: statements.length, mayBeEmpty, others: ['statement'] },
    {
      quote: quotes ? why : unasked(why),
      reason: reasons ? why : unasked(why),
      [field]: member.word(allowed, also),
    },
    (index) => (repeatStatements ? { statement: statements[index] ?? '' } : {}),
  );
  const verdicts = mapped(entries, (found) =>
    (found as Record<string, string>[]).map((entry) => {
      const { quote: _quote, reason: _reason, ...rest } = entry;
      return unread?.includes(entry[field] ?? '') === true ? { ...rest, [field]: UNCHECKED } : entry;
    }),
  );
  return replyForm(
    withOthers({ [list]: verdicts }),
  ) as JsonJudgeSchema<object> as JsonJudgeSchema<FormedReply>;
}

export interface ClaimsReply {
  claims: string[];
}

/**
 * Form of a list of statements under the name `field`; blank statements are left out. Members that the judge adds stay in the
 * result of the step, as in the reference.
 */
function statementsForm(field: string): JsonJudgeSchema<Statements> {
  const statements = mapped(member.texts, (stated) =>
    stated.map((statement) => statement.trim()).filter((statement) => statement !== ''),
  );
  return replyForm(
    withOthers({ [field]: statements }),
  ) as JsonJudgeSchema<object> as JsonJudgeSchema<Statements>;
}

/** A statement with the judge's verdict on it. */
export interface Finding extends StatementVerdict {
  statement: string;
  /** Kind of the evidence that holds the quote. */
  source?: string;
}

/** Statements under the name that the scorer uses for them. */
type Statements = Record<string, string[]>;

/** Arguments of the second question. */
export interface VerdictContext {
  readonly run: AgentRunInput & { runId: string };
  readonly results: { readonly preprocessStepResult: Statements };
}

/** Differences between statement scorers. */
interface StatementScorerSpec {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly higherIsBetter: boolean;
  labels(scale: number): ScoreLabel[];
  /** Names of the statements, singular and plural. */
  readonly noun: string;
  readonly nouns: string;
  /** The question for the statements. */
  readonly statementInstructions: string;
  /** Returns name and text of the source of the statements, and what is shown beside it. */
  source(run: AgentRunInput): {
    readonly name: string;
    readonly text: string;
    readonly beside?: Record<string, unknown>;
  };
  /** Returns a reason when the run cannot be scored; called before the first question. */
  unfit?(run: AgentRunInput): NotScorable | undefined;
  /** Words of the verdicts, each with the word of the reference that is read as the same. */
  readonly verdicts: Readonly<Record<string, string>>;
  readonly form: VerdictsForm;
  /** True when each entry of the analysis repeats its statement. */
  readonly repeatStatements: boolean;
  /** Beginning of the second question, where other scorers ask about the same material; '' by default. */
  readonly verdictLead?: string;
  /** Meaning of the verdicts: the second question, without the form of its reply. */
  readonly verdictInstructions: string;
  /** Returns the evidence for the verdicts; it is sent with the statements. */
  evidence(
    context: VerdictContext,
  ): Record<string, unknown> | NotScorable | Promise<Record<string, unknown> | NotScorable>;
  /** The verdict on a statement that no evidence is about, and the runs of which some evidence was left out of the question. */
  readonly unread?: { readonly verdict: string; isCut(run: object): boolean };
  /** Version of all prompts of the scorer. */
  readonly promptVersion: string;
  /** Computes the share of the scale, 0 to 1, from at least one verdict. */
  share(verdicts: readonly string[]): number;
  /** Reason why a run with an empty text has no score; undefined where it scores 0. */
  readonly unscorableWithoutText?: string;
  /** Reason why a run without statements has no score; undefined where it scores 0. */
  readonly unscorableWithoutStatements?: string;
  /** True where a text without statements is judged as one. */
  readonly judgesWholeText?: boolean;
  /** Finds the evidence that holds a quote, and its kind; undefined where none does, and the quote is left out. */
  findQuote?(run: object, quote: string): { readonly source?: string } | undefined;
  /** Description of the score and of what it is computed from, for the question for an explanation. */
  readonly about: string;
  /** Writes the explanation as sentences, also for no findings. */
  explain(findings: readonly Finding[]): string;
}

interface StatementScorerConfig {
  readonly model: JudgeModel | undefined;
  readonly scale: number;
  readonly reason: ReasonMode;
  /** Options as the user gave them: part of the fingerprint. */
  readonly options: object;
}

interface StatementResults {
  preprocessStepResult: Statements;
  analyzeStepResult: FormedReply;
}

type JudgedContext = Pick<VerdictContext, 'run'> & { readonly results: StatementResults };

/**
 * Creates a scorer in three steps: statements of a text; one verdict for each; a share of the scale, rounded to two decimals.
 * Asks no question when there is nothing to judge.
 */
export function createStatementScorer(
  spec: StatementScorerSpec,
  config: StatementScorerConfig,
): RunnableScorer<AgentRunInput, StatementResults> {
  const { scale, reason } = config;
  // Without an explanation nobody reads why: the verdicts come bare, and cost less.
  const form = reason === false ? { ...spec.form, quotes: false, reasons: false } : spec.form;
  const scored = createScorer({
    id: spec.id,
    name: spec.name,
    description: spec.description,
    type: 'agent',
    judge: judgeAfterData(spec.id, config.model, verdictInstructions(spec, form)),
    higherIsBetter: spec.higherIsBetter,
    range: [0, scale],
    labels: spec.labels(scale),
    version: '1',
    promptVersion: spec.promptVersion,
    options: { ...config.options, scale, reason },
    details: (context) => ({ verdicts: listFindings(spec, context as JudgedContext) }),
  })
    .preprocess<Statements>({
      description: `${capitalised(spec.nouns)} of the text`,
      judge: askAfterData(spec.statementInstructions),
      outputSchema: statementsForm(spec.nouns),
      withoutJudge: ({ run }) => withoutExtraction(spec, run),
      createPrompt: ({ run }) => sourcePrompt(spec, run),
    })
    .analyze<FormedReply>({
      description: `One verdict for each ${spec.noun}`,
      outputSchema: ({ run, results }) =>
        namedVerdictsForm(
          {
            statements: listStatements(spec, { run, results }),
            allowed: Object.keys(spec.verdicts),
            also: Object.values(spec.verdicts),
            repeatStatements: spec.repeatStatements,
            unread: spec.unread?.isCut(run) === true ? listForms(spec, spec.unread.verdict) : undefined,
            mayBeEmpty: listStated(spec, results).length === 0,
          },
          form,
        ),
      withoutJudge: (context) => withoutStatements(spec, listStatements(spec, context)),
      createPrompt: (context) => verdictPrompt(spec, context),
    })
    .generateScore((context) => computeScore(spec, listFindings(spec, context), scale));

  return withReason(scored, reason, scale, {
    about: spec.about,
    explain: (context) => {
      const findings = listFindings(spec, context);
      return [spec.explain(findings.filter(isChecked)), ...tellUnchecked(findings, spec.noun)].join(' ');
    },
    nothingJudged: (context) => listFindings(spec, context).length === 0,
    material: (context) => reasonMaterial(spec, listFindings(spec, context)),
  });
}

function computeScore(
  spec: StatementScorerSpec,
  findings: readonly Finding[],
  scale: number,
): number | NotScorable {
  const verdicts = findings.filter(isChecked).map(({ verdict }) => verdict);
  if (verdicts.length > 0) {
    return roundToTwoDecimals(spec.share(verdicts) * scale);
  }
  return findings.length === 0 ? 0 : notScorable(`the evidence is too long to be read for any ${spec.noun}`);
}

function reasonMaterial(spec: StatementScorerSpec, findings: readonly Finding[]): Record<string, unknown> {
  const [note] = tellUnchecked(findings, spec.noun);
  return {
    findings: findings.filter(isChecked).map(({ statement, verdict, reason: why }) => ({
      [spec.noun]: statement,
      verdict,
      ...(why === undefined ? {} : { reason: why }),
    })),
    ...(note === undefined ? {} : { note }),
  };
}

function sourcePrompt(spec: StatementScorerSpec, run: AgentRunInput): string {
  const { name, text, beside } = spec.source(run);
  return fence({ ...beside, [name]: text });
}

/**
 * Builds the question for the verdicts: their meaning, and the further fields of each. What several scorers ask alike comes
 * first.
 */
function verdictInstructions(
  { noun, verdictLead: lead, verdictInstructions: meaning }: StatementScorerSpec,
  form: VerdictsForm,
): string {
  const quote = form.quotes ? ' quote: the shortest deciding passage, copied exactly, or empty.' : '';
  const reason = form.reasons === false ? '' : ' reason: a few words.';
  // Bare verdicts need no more words than their schema.
  const fields = reason === '' ? [] : [`One entry for each ${noun}, n its number.${quote}${reason}`];
  return (lead === undefined ? [meaning, ...fields] : [lead, ...fields, meaning]).join('\n');
}

/** Returns the statements of a run that needs no question: an empty text has none, and an unfit run is not read. */
function withoutExtraction(
  spec: StatementScorerSpec,
  run: AgentRunInput,
): Statements | NotScorable | undefined {
  const { text } = spec.source(run);
  if (text.trim() === '') {
    const reason = spec.unscorableWithoutText;
    return reason === undefined ? { [spec.nouns]: [] } : notScorable(reason);
  }
  return spec.unfit?.(run);
}

function withoutStatements(
  spec: StatementScorerSpec,
  statements: readonly string[],
): FormedReply | NotScorable | undefined {
  if (statements.length > 0) {
    return undefined;
  }
  const reason = spec.unscorableWithoutStatements;
  return reason === undefined ? { [spec.form.list]: [] } : notScorable(reason);
}

async function verdictPrompt(
  spec: StatementScorerSpec,
  context: VerdictContext,
): Promise<string | NotScorable> {
  const evidence = await spec.evidence(context);
  if (isNotScorable(evidence)) {
    return evidence;
  }
  const statements = listStatements(spec, context);
  return fence({
    ...evidence,
    [spec.nouns]: byNumber(statements),
  });
}

/** Lists the findings, in the scorer's own words for the verdicts. */
function listFindings(spec: StatementScorerSpec, context: JudgedContext): Finding[] {
  const statements = listStatements(spec, context);
  const entries = context.results.analyzeStepResult[spec.form.list] ?? [];
  return entries.map(({ reason, quote, [spec.form.field]: said = '' }, index) => {
    const holder = spec.findQuote === undefined ? {} : spec.findQuote(context.run, quote ?? '');
    return {
      statement: statements[index] ?? '',
      verdict: Object.keys(spec.verdicts).find((word) => listForms(spec, word).includes(said)) ?? said,
      ...(reason === undefined ? {} : { reason }),
      ...(quote === undefined || holder === undefined ? {} : { quote: quotedPart(quote), ...holder }),
    };
  });
}

/** Lists the words for a verdict: the scorer's own, then the reference's. */
function listForms({ verdicts }: StatementScorerSpec, word: string): string[] {
  return [word, verdicts[word] ?? word];
}

/** Lists the statements that are judged; the whole text, where it has none and the scorer judges it then. */
function listStatements(spec: StatementScorerSpec, { run, results }: VerdictContext): string[] {
  const stated = listStated(spec, results);
  const text = stated.length === 0 && spec.judgesWholeText === true ? spec.source(run).text.trim() : '';
  return text === '' ? stated : [text];
}

function listStated(spec: StatementScorerSpec, results: VerdictContext['results']): string[] {
  return results.preprocessStepResult[spec.nouns] ?? [];
}

function capitalised(word: string): string {
  return `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;
}
