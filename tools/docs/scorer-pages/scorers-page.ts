import { runInNewContext } from 'node:vm';
import type { Scorer, ScorerRunResult } from '../../../src/scorers/evals/index.ts';
import * as legacy from '../../../src/scorers/legacy/index.ts';
import * as prebuilt from '../../../src/scorers/prebuilt/index.ts';
import * as utils from '../../../src/scorers/shared/utils.ts';
import { JUDGED_CASES } from '../../../test/support/builders/judged-cases.ts';
import { scriptedModel } from '../../../test/support/fakes/scripted-model.ts';
import type { ScriptedModel } from '../../../test/support/fakes/scripted-model.ts';
import { ANSWER_PAGES } from './answer-pages.ts';
import { CHECK_PAGES } from './check-pages.ts';
import { CODE_PAGES } from './code-pages.ts';
import { GROUNDED_PAGES } from './grounded-pages.ts';
import { EXAMPLE_JUDGE } from './scorer-page.ts';
import type { ScorerPage } from './scorer-page.ts';

export type { ScorerPage } from './scorer-page.ts';

export const SCORER_PAGES: readonly ScorerPage[] = [
  ...GROUNDED_PAGES,
  ...ANSWER_PAGES,
  ...CODE_PAGES,
  ...CHECK_PAGES,
];

/** Run that all examples score. */
const EXAMPLE_RUN = `const answer = 'It is 18 degrees in Paris. It will rain.';
const toolInvocation = createToolInvocation({
  toolCallId: '1',
  toolName: 'weather',
  args: { city: 'Paris' },
  result: 'Weather: it is 18 degrees in Paris.',
});

const run = {
  ...createAgentTestRun({
    inputMessages: [createTestMessage({ role: 'user', content: 'How warm is it in Paris?' })],
    systemMessages: [{ role: 'system', content: 'You tell the weather.' }],
    output: [
      createTestMessage({
        role: 'assistant',
        content: answer,
        parts: [
          { type: 'tool-invocation', toolInvocation },
          { type: 'text', text: answer },
        ],
      }),
    ],
  }),
  context: ['Weather: it is 18 degrees in Paris.', 'Rome is sunny.'],
  groundTruth: 'It is 18 degrees. It stays dry.',
};`;

/** Result of an example. */
export interface ExampleOutcome {
  readonly scorer: Scorer;
  readonly result: ScorerRunResult;
  /** The honest judge. */
  readonly model: ScriptedModel;
}

/** Runs an example from the page. The judge gives the honest replies of the judged cases. */
export async function runExample(page: ScorerPage): Promise<ExampleOutcome> {
  const judged = page.kind === 'judged' ? JUDGED_CASES.find(({ name }) => name === page.title) : undefined;
  const { replies = [], explained = replies } = judged ?? {};
  const fitting = page.args.includes('reason: false') ? replies : explained;
  const model = scriptedModel(fitting.map((json) => ({ json })));
  const source = formatExample(page).replaceAll(EXAMPLE_JUDGE, 'model');
  const script = `(async () => { ${EXAMPLE_RUN}\n${source}\nreturn { scorer, result }; })()`;
  const made = (await runInNewContext(script, { ...prebuilt, ...utils, model })) as Omit<
    ExampleOutcome,
    'model'
  >;
  return { ...made, model };
}

/** Returns the arguments of an example's factory, with one judge for all. */
export function exampleArguments({ args }: ScorerPage): unknown[] {
  return runInNewContext(`[${args}]`, { ...prebuilt }) as unknown[];
}

/** Returns the factory of an example. */
export function exampleFactory({ factory }: ScorerPage): (...args: unknown[]) => Scorer {
  return runInNewContext(factory, { ...prebuilt }) as (...args: unknown[]) => Scorer;
}

function formatExample({ factory, args }: ScorerPage): string {
  return `const scorer = ${factory}(${args});\nconst result = await scorer.run(run);`;
}

/** Classes of the older interface. */
const LEGACY = Object.keys(legacy)
  .filter((name) => name.endsWith('Metric'))
  .toSorted()
  .map((name) => `\`${name}\``)
  .join(', ');

/** End of the page: the parts of the library that are no prebuilt scorers. */
const LIBRARY = `## Scorers of your own

\`createScorer\` takes an id, a \`type\` (\`agent\`, \`trajectory\`) and the steps \`preprocess\`, \`analyze\`, \`generateScore\`, \`generateReason\`:
functions, or questions with \`createPrompt\` and \`outputSchema\` (zod, Standard Schema, JSON Schema). \`judge\` has \`model\`, \`instructions\`,
\`task\` (sent after the prompt) and \`modelSettings\`. \`notScorable(reason)\` ends the run without a score. See [own scorers](own-scorers.md).

## Evaluations

\`runEvals\` scores an agent (\`generate\` returns \`scoringData\`) or workflow on items: \`failed\` (a gate below 1), \`scored\` (a threshold missed) or
\`passed\`. Scorers with several scores have thresholds by name: \`{ 'grounding-hallucination': { max: 0.1 } }\`. With Vitest:

\`\`\`ts
import { runEvals, type RunEvalsConfig } from 'spanscore/evals';
import { checks } from 'spanscore/scorers';
import { expectEvals, registerEvalMatchers } from 'spanscore/vitest';
import { expect, test } from 'vitest';

registerEvalMatchers();
declare const target: RunEvalsConfig['target'];
const config: RunEvalsConfig = {
  target,
  data: [{ input: 'How warm is it?' }],
  gates: [checks.noToolErrors()],
  scorers: [{ scorer: checks.includes('degrees'), threshold: 0.9 }],
};

test('8 of 10 items pass', () => expectEvals(config).toPass(0.8));
test('degrees', async () => expect(await runEvals(config)).toHaveScoreAbove('check-includes', 0.9));
\`\`\`

Matchers, too: \`toHaveVerdict\`, \`toPassGates\`, \`toPassThresholds\`, \`toHaveScoreBelow\`. A group's scorer has a path: \`agent.tone\`. Reporters read \`task.meta.mastraEval\`.

## Older metrics

\`spanscore/legacy\` has \`measure(input, output)\` for two texts, by the same scorers: ${LEGACY}.
`;

/** Options that many scorers have: the page explains them once. */
const SHARED_OPTIONS: Readonly<Record<string, string>> = {
  scale: 'the highest score (1)',
  reason:
    '`judge` (one more question), `template` (a sentence made of the verdicts) or `false`. Default: `template` for `grounding`, `panel`, `rubric`, `multi-turn-judge`, else `judge`',
  context: 'texts, the same for every run; else `run.context`',
  getContext: '`({ run }) => texts`; wins over `context`',
  contextExtractor:
    '`(input, output, run) => texts`, for example `contextFromRun`. This or `context` is needed, except in rules',
  sees: 'kinds of evidence (all)',
  earlierChars: 'most characters of earlier turns (8,000)',
  maxEvidenceChars: 'most characters of evidence in a question (48,000; 480,000 for a decision judge)',
};

/** Returns the scores of a result in the page's format. */
function shownScores({ score, label, scores = [] }: ScorerRunResult): string {
  const own = score === undefined ? [] : [`${score} (${label})`];
  const named = scores.map((entry) => `\`${entry.name}\` ${entry.score}`);
  return [...own, ...named].join(', ');
}

function formatBands({ labels = [] }: Scorer): string {
  const bands = labels.map(({ label, upTo, below }) => {
    if (upTo !== undefined) {
      return `${label} up to ${upTo}`;
    }
    return below === undefined ? `else ${label}` : `${label} below ${below}`;
  });
  return bands.length === 0 ? '' : ` Labels: ${bands.join(', ')}.`;
}

/** Returns the names of a scorer's scores of which less is better. */
function listFalling({ title }: ScorerPage, { scorer, result: { scores = [] } }: ExampleOutcome): string[] {
  const told = scorer.range === null ? scores : [{ ...scorer, name: title }];
  return told.flatMap(({ name, higherIsBetter }) => (higherIsBetter === false ? [name] : []));
}

function formatOptions({ given = {}, options }: ScorerPage): string {
  const told = Object.entries({ ...given, ...options }).map(([name, meaning]) => {
    const words = meaning.startsWith('(') ? ` ${meaning}` : `: ${meaning}`;
    return { name: `\`${name}\``, words: name in SHARED_OPTIONS ? '' : words };
  });
  const [shared, own] = [told.filter(({ words }) => words === ''), told.filter(({ words }) => words !== '')];
  const list = shared.map(({ name }) => name).join(', ');
  return [...own.map(({ name, words }) => `${name}${words}`), ...(list === '' ? [] : [list])].join('; ');
}

/** Writes the call of an example: the judge as `model`, and no choice of the explanation, which changes no score. */
function formatCall({ factory, args }: ScorerPage): string {
  const shown = args
    .replace(`model: ${EXAMPLE_JUDGE}`, 'model')
    .replace(/, options: \{ reason: [^}]* \}|, reason: \w+/, '');
  return `\`${factory}(${shown})\``;
}

function formatJudged(page: ScorerPage, { scorer, result }: ExampleOutcome): string {
  const { title, measures, input, formula, because } = page;
  return `## ${title}

${measures.slice(0, 1).toUpperCase()}${measures.slice(1)}. **Sees** ${input}.\\
**Score** ${formula}.${formatBands(scorer)}\\
**Options** ${formatOptions(page)}.\\
${formatCall(page)} (id \`${scorer.id}\`) gives ${shownScores(result)}: ${because}.
`;
}

function formatCode(page: ScorerPage): string {
  const options = formatOptions(page);
  return `- \`${page.title}\`, \`${page.factory}\`: ${page.formula}.${options === '' ? '' : ` Options: ${options}.`}`;
}

function formatCheck({ factory, given = {}, options, formula }: ScorerPage): string {
  const named = Object.keys(options);
  const args = [...Object.keys(given), ...(named.length === 0 ? [] : [`{ ${named.join(', ')} }`])];
  return `- \`${factory}(${args.join(', ')})\`: ${formula}.`;
}

/** Returns the text of `docs/scorers.md`. */
export async function scorersPage(): Promise<string> {
  const sections: string[] = [];
  const falling: string[] = [];
  const asksTwice: string[] = [];
  for (const page of [...GROUNDED_PAGES, ...ANSWER_PAGES]) {
    const outcome = await runExample(page);
    sections.push(formatJudged(page, outcome));
    if (page.questions === 2) {
      asksTwice.push(page.title);
    }
    falling.push(...listFalling(page, outcome));
  }
  const code = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ');
  const programsOnly = SCORER_PAGES.flatMap(({ kind, rule, title }) =>
    kind === 'judged' && rule === undefined ? [title] : [],
  );
  return `# Scorers

- A rule names a scorer; options stand in \`{ use, options }\` under \`scorers\`. An unknown option is refused.
- Programs import factories from \`spanscore/scorers\`; \`model\` is \`provider/model\` or an AI SDK model.
  ${code(programsOnly)} and checks (but \`no-tool-errors\`) exist in programs only.
- Scores go from 0 to 1, and more is better, except for ${code(falling)}.
- A run with nothing to judge is \`notScorable\`; where a judge fails, the run fails.
- [How well judges judge](evidence/judges.md) has measured quality and tokens.

The examples score this run:

\`\`\`ts
import { createAgentTestRun, createTestMessage, createToolInvocation } from 'spanscore/scorers/utils';

${EXAMPLE_RUN}
\`\`\`

## Evidence

All that the agent could know, chosen by \`sees\`. A finding names its source's kind.

- \`question\`, \`answer\`: always shown. Conversation: question and earlier turns.
- \`system\`: the system prompt; only the operator sets rules.
- \`user\`: the user's earlier words; they back what users say of themselves, and paste.
- \`turns\`: earlier answers and tool results.
- \`calls\`, \`tool-results\`: \`book_flight {"seats":2} → {"status":"confirmed"}\`.
- \`documents\`: retrieved documents.

Texts of the options, or of \`run.context\` without \`run.documents\`, stand alone. Without tools and documents, a prompt must hold a
document: 600 characters of question, or 120 in a tag, fence or triple quotes. Quotes must stand in a source, whatever their case,
spacing or escapes (\`grounding\`, \`panel\`); what is missing rests on a whole source.

## Options of several scorers

${Object.entries(SHARED_OPTIONS)
  .map(([name, meaning]) => `- \`${name}\`: ${meaning}.`)
  .join('\n')}

${code(asksTwice)} ask two questions, other judged scorers one.

${sections.join('\n')}
## Scorers without a judge

${CODE_PAGES.map(formatCode).join('\n')}

## Checks

1 where the condition holds, else 0. Defaults: \`ignoreCase\` true, \`exact\` false, \`times\` 1.

${CHECK_PAGES.map(formatCheck).join('\n')}

${LIBRARY}`;
}
