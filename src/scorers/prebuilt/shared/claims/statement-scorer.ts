import { createScorer } from '../../../../evals/create-scorer.ts';
import { isNotScorable, notScorable } from '../../../../evals/not-scorable.ts';
import type { NotScorable } from '../../../../evals/not-scorable.ts';
import type { RunnableScorer } from '../../../../evals/scorer-chain.ts';
import type { JudgeModel } from '../../../../judge/judge.ts';
import { roundToTwoDecimals } from '../../../utils/numbers.ts';
import { byNumber } from '../by-number.ts';
import { statementsSchema } from './claims-reply.ts';
import { askAfterData, fence } from '../fence.ts';
import { checkedModel } from '../judge-model.ts';
import { quotedPart } from '../evidence/run-evidence.ts';
import { isChecked, tellUnchecked } from '../evidence/unchecked.ts';
import { withReason } from '../reason-step.ts';
import type { ReasonMode } from '../reason-step.ts';
import type { Finding, StatementScorerSpec, Statements, VerdictContext } from './statement-scorer-spec.ts';
import { formedVerdictsSchema } from './verdicts-reply.ts';
import type { FormedReply, VerdictsForm } from './verdicts-reply.ts';
import type { AgentRunInput } from '../../../utils/agent-run-input.ts';

export interface StatementScorerConfig {
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

/** A run with its verdicts. */
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
    judge: { model: checkedModel(spec.id, config.model), ...askAfterData(verdictInstructions(spec, form)) },
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
      outputSchema: statementsSchema(spec.nouns),
      withoutJudge: ({ run }) => withoutExtraction(spec, run),
      createPrompt: ({ run }) => sourcePrompt(spec, run),
    })
    .analyze<FormedReply>({
      description: `One verdict for each ${spec.noun}`,
      outputSchema: ({ run, results }) =>
        formedVerdictsSchema(
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
    instructions: spec.reasonInstructions,
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
