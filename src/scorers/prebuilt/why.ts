import type { Verdict } from '../../domain/score.ts';
import type { JudgeModel } from '../../judge/judge.ts';
import { createScorer } from '../evals/create-scorer.ts';
import type { RunnableScorer, ScorerRunInput } from '../evals/scorer.ts';
import { EVIDENCE_LEAD, EVIDENCE_PROMPT_VERSION, searchable, selectMaterial } from '../shared/evidence.ts';
import { byNumber, fence, judgeAfterData } from '../shared/judged.ts';
import { mapped, member, replyForm } from '../shared/reply-form.ts';
import { readAnswer } from '../shared/messages.ts';
import { listRunEvidence, quotedPart } from '../shared/run-evidence.ts';
import { findHolder } from '../shared/sentences.ts';

/** Raise the first number with every change of the wording below. */
const WHY_PROMPT_VERSION = `1.${EVIDENCE_PROMPT_VERSION}`;

const ID = 'why';

/** Most characters of evidence in the question: about 12,000 tokens. */
const EVIDENCE_CHARS = 48_000;

/** The question; the material is the evidence by kind, the answer, and `verdicts: { 1: { statement, verdict }, … }`. */
const WHY_INSTRUCTIONS = `Another judge gave the numbered verdicts on an AI assistant's answer. Tell its operators why each is so. ${EVIDENCE_LEAD}
One entry for each verdict, n its number.
quote: the shortest passage of the evidence that decides, copied letter by letter; empty where the evidence lacks it.
reason: one plain sentence. agrees: false only where you would give another verdict.`;

interface Words {
  readonly quote: string;
  readonly reason: string;
  readonly agrees: boolean;
}

/**
 * Lets a chat judge word the reasons of verdicts that a decision judge gave without words, with the passage that decides. The score is the
 * share of the verdicts with which it agrees.
 */
export function createWhyScorer(
  model: JudgeModel,
  findings: readonly Pick<Verdict, 'statement' | 'verdict'>[],
): RunnableScorer {
  const statements = findings.map(({ statement }) => statement);
  const verdicts = member.numbered(
    { count: findings.length, what: 'verdict' },
    { quote: member.anyText, reason: member.text, agrees: member.flag },
  );
  return createScorer({
    id: ID,
    name: 'Reasons',
    description: 'Share of the verdicts of another judge that a chat judge shares',
    higherIsBetter: true,
    range: [0, 1],
    judge: judgeAfterData(ID, model, WHY_INSTRUCTIONS),
    promptVersion: WHY_PROMPT_VERSION,
    details: ({ run, results }) => ({
      verdicts: findings.map((finding, index) =>
        addWords(finding, (results as { analyzeStepResult: Words[] }).analyzeStepResult[index], run),
      ),
    }),
  })
    .analyze({
      description: 'Why the verdicts are so',
      outputSchema: replyForm(mapped(member.object({ verdicts }), (reply): Words[] => reply.verdicts)),
      createPrompt: async ({ run }) => {
        const given = byNumber(findings.map(({ statement, verdict }) => ({ statement, verdict })));
        const beside = { answer: readAnswer(run), verdicts: given };
        const sources = listRunEvidence(run);
        return fence(
          await selectMaterial(model, { sources, texts: statements, beside, maxChars: EVIDENCE_CHARS }),
        );
      },
    })
    .generateScore(
      ({ results }) => results.analyzeStepResult.filter(({ agrees }) => agrees).length / findings.length,
    );
}

/** Adds the words to a verdict; a quote that the evidence does not hold is left out. */
function addWords(
  { statement, verdict }: Pick<Verdict, 'statement' | 'verdict'>,
  { quote, reason, agrees }: Words = { quote: '', reason: '', agrees: true },
  run: ScorerRunInput,
): Verdict {
  const said = { statement, verdict, reason: agrees ? reason : `The chat judge disagrees: ${reason}` };
  const holder = quote === '' ? undefined : findHolder(quote, searchable(listRunEvidence(run)));
  return holder === undefined ? said : { ...said, quote: quotedPart(quote), ...holder };
}
