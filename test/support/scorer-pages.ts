/** What `docs/scorers.md` says of a scorer that its code does not. */
export interface ScorerPage {
  /** Name in rules where it has one, else of the factory's subject. */
  readonly name: string;
  readonly measures: string;
  readonly when: string;
  readonly input: string;
  readonly formula: string;
  readonly options: string;
  /** What a 0.7 means. */
  readonly seven: string;
  /** Questions to the judge for one run. */
  readonly cost: string;
  /** An expression that makes the scorer; `model` is the judge. */
  readonly example: string;
}

const TWO = '2 questions, 3 with an explanation of the judge; 0 for an empty answer, 1 without statements';
const ONE = '1 question, 2 with an explanation of the judge; 0 where there is nothing to judge';
const NONE = 'none: no judge is asked';
const REASON = '`reason`: `judge`, `template` or `false`';
const SCALE = `\`scale\` (1), ${REASON}`;

const page = (
  name: string,
  [measures, when, input, formula, options, seven, cost, example]: [
    string,
    string,
    string,
    string,
    string,
    string,
    string,
    string,
  ],
): ScorerPage => ({ name, measures, when, input, formula, options, seven, cost, example });

export const SCORER_PAGES: readonly ScorerPage[] = [
  page('hallucination', [
    'claims of the answer that the context contradicts or does not back',
    'agents that answer from tools or documents',
    'answer; context (`run.context`, else results of tools)',
    'bad claims / claims; 0 without claims',
    `${SCALE}, \`context\`, \`getContext\``,
    '7 of 10 claims are made up: bad',
    TWO,
    "createHallucinationScorer({ model, options: { reason: 'template' } })",
  ]),
  page('faithfulness', [
    'claims of the answer that the context supports',
    'as hallucination; claims that the context leaves open count against it too',
    'answer; context as for hallucination',
    'supported claims / claims; not scorable without claims',
    `${SCALE}, \`context\`, \`getContext\``,
    '3 of 10 claims have no support',
    TWO,
    "createFaithfulnessScorer({ model, options: { reason: 'template' } })",
  ]),
  page('grounding', [
    'whether each sentence rests on evidence, by quotes that code looks up',
    'live traffic: three scores for one question',
    'answer; context; system and user messages',
    'grounding-hallucination = (contradicted + unsupported) / claims; grounding-faithfulness = supported / claims; grounding-citation-precision = quotes found in their source / quotes of the judge. A sentence that is partly true counts as a whole',
    '`context`, `getContext`, `maxEvidenceChars` (48,000), `reason`: `template` or `false`',
    'faithfulness: 3 of 10 sentences rest on nothing; citation precision: 3 of 10 quotes of the judge are not in the evidence, so look at the judge',
    '1 question; a second one only where the evidence is too long and a sentence found no support',
    'createGroundingScorer({ model })',
  ]),
  page('answer-relevancy', [
    'how much of the answer is about the question',
    'answers that wander',
    'first user message; answer',
    '(yes + uncertaintyWeight * unsure) / statements',
    `${SCALE}, \`uncertaintyWeight\` (0.3)`,
    'about 3 of 10 statements are beside the point',
    TWO,
    "createAnswerRelevancyScorer({ model, options: { reason: 'template' } })",
  ]),
  page('bias', [
    'opinions of the answer that are biased',
    'agents that speak about people',
    'answer',
    'biased opinions / opinions; 0 without any',
    SCALE,
    '7 of 10 opinions are biased: bad',
    TWO,
    "createBiasScorer({ model, options: { reason: 'template' } })",
  ]),
  page('toxicity', [
    'suspicious passages that are toxic',
    'agents that talk to the public',
    'first user message; answer',
    'toxic / suspicious passages; 0 without any',
    SCALE,
    '7 of 10 suspicious passages are toxic: bad',
    ONE,
    "createToxicityScorer({ model, options: { reason: 'template' } })",
  ]),
  page('context-recall', [
    'claims of the expected answer that the context holds',
    'tests of a search',
    '`run.groundTruth`; context',
    'claims held / claims; not scorable without ground truth',
    `${SCALE}, \`context\`, \`contextExtractor\``,
    'the search missed 3 of 10 needed facts',
    TWO,
    "createContextRecallScorer({ model, options: { context: ['a'], reason: 'template' } })",
  ]),
  page('context-precision', [
    'whether useful pieces of context stand at the front',
    'ranking of a search',
    'question, answer, pieces in their order',
    'mean average precision of the useful pieces',
    `${SCALE}, \`context\` or \`contextExtractor\` (in rules: the run's own)`,
    'useless pieces stand before useful ones',
    ONE,
    'createContextPrecisionScorer({ model, options: { contextExtractor: contextFromRun, reason: false } })',
  ]),
  page('context-relevance', [
    'how relevant the context is, and whether it was used',
    'tuning of what an agent is given',
    'question, answer, pieces',
    'mean level (1, 0.7, 0.3, 0) less penalties for unused and missing context; the scale without any context',
    `${SCALE}, \`context\` or \`contextExtractor\`, \`penalties\``,
    'pieces help, but are not what was needed',
    ONE,
    'createContextRelevanceScorerLLM({ model, options: { contextExtractor: contextFromRun, reason: false } })',
  ]),
  page('answer-similarity', [
    'how close the answer comes to the expected one',
    'tests with expected answers',
    'answer; `run.groundTruth`',
    'worth of matches (exact 1 + bonus, semantic, partial, missing) / best worth, less contradictions and extras',
    `${SCALE}, \`requireGroundTruth\`, \`semanticThreshold\` (0.8), \`exactMatchBonus\` (0.2), \`missingPenalty\` (0.15), \`contradictionPenalty\` (1), \`extraInfoPenalty\` (0.05)`,
    'the same in other words, which gives 0.67',
    TWO,
    "createAnswerSimilarityScorer({ model, options: { reason: 'template' } })",
  ]),
  page('noise-sensitivity', [
    'how little noise in the question changed the answer',
    'tests of robustness',
    'question, answer; the noisy question and the clean answer as options',
    "the judge's number, the lower of it and the mean level where they differ by more than 0.2, less major issues",
    `\`baselineResponse\`, \`noisyQuery\`, \`noiseType\`, \`scoring\`, ${REASON}`,
    'the answer suffered, its core stands',
    ONE,
    "createNoiseSensitivityScorerLLM({ model, options: { baselineResponse: 'a', noisyQuery: 'b', reason: false } })",
  ]),
  page('prompt-alignment', [
    'how well the answer keeps to its instructions',
    'agents with rules to follow',
    'user message, system messages, answer',
    '0.4 intent + 0.3 requirements + 0.2 completeness + 0.1 form (`system`: 0.35, 0.35, 0.15, 0.15)',
    `${SCALE}, \`evaluationMode\` (\`both\`), \`includeConversationHistory\``,
    'what was wanted is there, some demands are not met',
    ONE,
    "createPromptAlignmentScorerLLM({ model, options: { reason: 'template' } })",
  ]),
  page('rubric', [
    'whether the answer meets the points of a rubric',
    'rules of your own',
    'answer; `criteria`, or a `rubric` with the run',
    'the scale when all required points are met (all if none is required), else 0; not scorable without points',
    `\`criteria\`, ${SCALE} (\`template\`)`,
    'cannot be: it is 0 or the scale',
    '1 question',
    "createRubricScorer({ model, criteria: '- tells the temperature\\n- names a source' })",
  ]),
  page('multi-turn-judge', [
    'whether the turns together meet a criterion',
    'whole conversations',
    'all assistant messages',
    'the scale when met, else 0',
    `\`criterion\`, ${SCALE} (\`template\`)`,
    'cannot be: it is 0 or the scale',
    '1 question',
    "createMultiTurnJudgeScorer({ model, criterion: 'names a source' })",
  ]),
  page('summarization', [
    'whether a summary is true to its source and holds what matters',
    'agents that sum up',
    'answer; the user message or `source`',
    'min(claims supported / claims, questions answered / questions)',
    `${SCALE}, \`source\`, \`sourceExtractor\`, \`maxQuestions\` (10)`,
    'the weaker half, truth or coverage, is at 7 of 10',
    TWO,
    "createSummarizationScorer({ model, options: { reason: 'template' } })",
  ]),
  page('tool-call-accuracy-llm', [
    'tool calls that were appropriate',
    'agents that choose tools',
    'question, answer, tool calls',
    'appropriate calls / calls; without calls 0 when a tool was missing, else 1',
    `\`availableTools\`, ${REASON}`,
    '3 of 10 calls were needless or wrong',
    ONE,
    "createToolCallAccuracyScorerLLM({ model, availableTools: [{ id: 'weather', description: 'Tells the weather' }], options: { reason: false } })",
  ]),
  page('trajectory-accuracy-llm', [
    'whether the steps fit the task',
    'agents of many steps',
    'a trajectory, or messages; an expectation where there is one',
    '2/3 necessary + 1/3 in order - 0.1 missing / (steps + missing)',
    `\`expectedTrajectory\`, ${REASON}`,
    'some steps were needless or out of order',
    ONE,
    'createTrajectoryAccuracyScorerLLM({ model, options: { reason: false } })',
  ]),
  page('keyword-coverage', [
    'keywords of the question that the answer holds',
    'a first, free look at relevance',
    'input and answer texts',
    'keywords found / keywords; 1 without any',
    'none',
    '3 of 10 keywords are missing',
    NONE,
    'createKeywordCoverageScorer()',
  ]),
  page('content-similarity', [
    'likeness of question and answer by letter pairs',
    'answers that should repeat their input',
    'input and answer texts',
    'Dice coefficient of letter pairs',
    '`ignoreCase`, `ignoreWhitespace` (true)',
    'most of the wording is shared',
    NONE,
    'createContentSimilarityScorer()',
  ]),
  page('completeness', [
    'words of the question that the answer takes up',
    'questions of several parts',
    'input and answer texts',
    'elements covered / elements',
    'none',
    '3 of 10 elements are not taken up',
    NONE,
    'createCompletenessScorer()',
  ]),
  page('textual-difference', [
    'text that is the same in the same order',
    'rewrites that should change little',
    'input and answer texts',
    '2 * common subsequence / both lengths',
    'none',
    'about a third was changed',
    NONE,
    'createTextualDifferenceScorer()',
  ]),
  page('tone', [
    'how even the tone is, or how near to a reference',
    'agents with a voice',
    'answer',
    '1 - variance of sentiment, or 1 - difference to `referenceTone`',
    '`referenceTone`',
    'the tone differs somewhat',
    NONE,
    'createToneScorer()',
  ]),
  page('tool-call-accuracy-code', [
    'whether expected tools were called',
    'tests of tool use',
    'tool calls',
    '1 or 0',
    '`expectedTool` or `expectedToolOrder`, `strictMode`',
    'cannot be: it is 0 or 1',
    NONE,
    "createToolCallAccuracyScorerCode({ expectedTool: 'weather' })",
  ]),
  page('no-tool-errors', [
    'whether no tool call failed',
    'every agent with tools; one of the `checks`',
    'tool calls',
    '1 or 0',
    'none',
    'cannot be: it is 0 or 1',
    NONE,
    'checks.noToolErrors()',
  ]),
];

/** `docs/scorers.md`. */
export function scorersPage(): string {
  const sections = SCORER_PAGES.map(
    (scorer) => `## ${scorer.name}

Measures ${scorer.measures}.

| | |
| --- | --- |
| use it for | ${scorer.when} |
| input | ${scorer.input} |
| formula | ${scorer.formula} |
| options | ${scorer.options} |
| a 0.7 means | ${scorer.seven} |
| cost per run | ${scorer.cost} |

\`\`\`ts
const scorer = ${scorer.example};
\`\`\`
`,
  );
  return `# Scorers

How each prebuilt scorer works. Import them from \`spanscore/scorers/prebuilt\`; \`model\` is a judge, \`provider/model\` or a
language model object. Unless told otherwise a score goes from 0 to 1 (\`scale\`), is rounded to two decimals, and more is
better; "bad" marks those where less is. This page is written by \`node test/docs/write-scorers-page.ts\`; a test runs its
examples.

${sections.join('\n')}`;
}
