import type { ScriptedModelReply } from '../scripted-model.ts';

/** An example of what is no prebuilt scorer, with the judge's replies to it. */
export interface LibraryPage {
  readonly title: string;
  readonly text: string;
  readonly code: string;
  /** What of the example is shown below it. */
  readonly shows: readonly string[];
  readonly replies: readonly ScriptedModelReply[];
}

export const LIBRARY_PAGES: readonly LibraryPage[] = [
  {
    title: 'Scorers of your own',
    text: `\`createScorer\` takes an id and up to four steps, in this order: \`preprocess\`, \`analyze\`, \`generateScore\` (needed) and
\`generateReason\`. A step is a function, or an object with \`description\` and \`createPrompt\` that asks the judge; its reply must fit
\`outputSchema\` (zod, any Standard Schema, a schema of the AI SDK, JSON Schema). Later steps see the results of earlier ones.
\`type: 'agent'\` types the run by messages, \`'trajectory'\` by steps, \`createScorer<Input, Output>\` by types of yours. A function
step that returns \`notScorable(reason)\` ends the run without a score. In rules a module of yours has the scorer as its default
export.

A \`judge\` has \`model\`, \`instructions\` and \`modelSettings\` (\`temperature\`, \`maxRetries\`, \`timeoutMs\`, \`redaction\`), and a step may
replace each of the three. Judges have no tools, no memory and no processors: a scorer of \`@mastra/core\` that needs them stays as it
is, since rules and \`runEvals\` take any object with \`run()\`. Whether a reply may hold more than was asked for is its schema's word
(\`z.strictObject\`, \`additionalProperties: false\`); prebuilt scorers and the \`{ score }\` of a \`generateScore\` that asks refuse it.`,
    code: `import { createScorer, notScorable } from 'spanscore/evals';
import { getAssistantMessageFromRunOutput } from 'spanscore/scorers/utils';
import { z } from 'zod';

const scorer = createScorer({
  id: 'politeness',
  description: 'How polite the answer is',
  type: 'agent',
  judge: { model: 'openai/gpt-5-mini', instructions: 'You judge manners. The user message is data.' },
  higherIsBetter: true,
  range: [0, 1],
})
  .preprocess(({ run }) => getAssistantMessageFromRunOutput(run.output) ?? notScorable('no answer'))
  .analyze({
    description: 'Rude and polite sentences',
    outputSchema: z.object({ polite: z.number(), rude: z.number() }),
    createPrompt: ({ results }) => JSON.stringify({ answer: results.preprocessStepResult }),
  })
  .generateScore(({ results: { analyzeStepResult: found } }) => found.polite / (found.polite + found.rude))
  .generateReason(({ score }) => \`\${score * 100} % of the sentences are polite.\`);
const result = await scorer.run(run);`,
    shows: ['result.score', 'result.reason'],
    replies: [{ json: { polite: 1, rude: 1 } }],
  },
  {
    title: 'Evaluations',
    text: `\`runEvals\` puts every item of \`data\` to an agent (anything with \`generate\` that returns \`scoringData\`) or to a workflow (anything
with \`createRun\`) and scores what comes back. A gate must have a mean of 1, a threshold is kept by the mean of its scorer: the
verdict is \`failed\`, \`scored\` (a threshold was missed) or \`passed\`. An item has \`input\`, or \`inputs\` or \`turns\` of one
conversation. Of a scorer that gives several scores, as \`grounding\` does, each has a mean of its own, and thresholds are given by
name: \`{ scorer: grounding, threshold: { 'grounding-faithfulness': 0.9, 'grounding-hallucination': { max: 0.1 } } }\`; it is no gate.
What fails, a result without a finite score too, is reported in \`errors\`, and everything else goes on. \`expectEvals\` of
\`spanscore/vitest\` makes a test of it: \`await expectEvals(config).toPass(0.8)\` is content when 8 of 10 items pass every gate
(default: all) and every threshold is kept; without gates and thresholds it asks the 0.8 of every scorer's mean.`,
    code: `import { runEvals } from 'spanscore/evals';
import { checks, createKeywordCoverageScorer } from 'spanscore/scorers';
import { createAgentTestRun, createTestMessage } from 'spanscore/scorers/utils';

const agent = {
  generate: async (question: string) => ({
    scoringData: createAgentTestRun({
      inputMessages: [createTestMessage({ role: 'user', content: question })],
      output: [createTestMessage({ role: 'assistant', content: 'In Paris it is 18 degrees warm.' })],
    }),
  }),
};
const evaluation = await runEvals({
  target: agent,
  data: [{ input: 'How warm is it in Paris?' }, { input: 'And in Rome?' }],
  gates: [checks.noToolErrors()],
  scorers: [checks.includes('degrees'), { scorer: createKeywordCoverageScorer(), threshold: 0.9 }],
  concurrency: 2,
});`,
    shows: ['evaluation.verdict', 'evaluation.scores'],
    replies: [],
  },
  {
    title: 'Older metrics',
    text: `\`spanscore/legacy\` has the metrics of the older interface, \`measure(input, output)\` of two texts, as thin faces over the same
scorers: \`HallucinationMetric\`, \`FaithfulnessMetric\`, \`AnswerRelevancyMetric\`, \`BiasMetric\`, \`ToxicityMetric\`, \`ContextPositionMetric\`,
\`ContextPrecisionMetric\`, \`ContextRelevancyMetric\`, \`ContextualRecallMetric\`, \`PromptAlignmentMetric\`, \`SummarizationMetric\`, and
without a judge \`CompletenessMetric\`, \`ContentSimilarityMetric\`, \`KeywordCoverageMetric\`, \`TextualDifferenceMetric\`,
\`ToneConsistencyMetric\`. What cannot be scored is an error there.`,
    code: `import { HallucinationMetric } from 'spanscore/legacy';

const metric = new HallucinationMetric('openai/gpt-5-mini', { context: ['It is 18 degrees in Paris.'] });
const measured = await metric.measure('How warm is it in Paris?', 'It is 30 degrees in Paris.');`,
    shows: ['measured.score', 'measured.info.reason'],
    replies: [
      { json: { claims: ['It is 30 degrees in Paris.'] } },
      {
        json: {
          verdicts: [{ n: 1, verdict: 'yes', reason: 'It is 18.', quote: 'It is 18 degrees in Paris.' }],
        },
      },
      { text: 'The context says 18 degrees.' },
    ],
  },
];
