import { runInNewContext } from 'node:vm';
import type { Scorer, ScorerRunResult } from '../../../../src/evals/index.ts';
import * as prebuilt from '../../../../src/scorers/prebuilt/index.ts';
import * as utils from '../../../../src/scorers/utils/index.ts';
import { JUDGED_CASES } from '../../builders/judged-cases.ts';
import { scriptedModel } from '../../fakes/scripted-model.ts';
import type { ScriptedModel } from '../../fakes/scripted-model.ts';
import { ANSWER_PAGES } from './answer-pages.ts';
import { CHECK_PAGES } from './check-pages.ts';
import { CODE_PAGES } from './code-pages.ts';
import { GROUNDED_PAGES } from './grounded-pages.ts';
import { librarySection } from './library-examples.ts';
import { LIBRARY_PAGES } from './library-pages.ts';
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

/** Returns the import lines of an example. */
function formatImports({ factory, args }: ScorerPage): string {
  const names = [...(args.includes('contextFromRun') ? ['contextFromRun'] : []), factory.split('.')[0]];
  return `import { ${names.join(', ')} } from 'spanscore/scorers';`;
}

/** Returns the scores of a result in the page's format. */
function shownScores({ score, label, scores = [] }: ScorerRunResult): string[] {
  const own = score === undefined ? [] : [`score ${score}${label === undefined ? '' : ` (${label})`}`];
  const named = scores.map((entry) => `${entry.name} ${entry.score} (${entry.label})`);
  return [...own, ...named].map((line) => `// ${line}`);
}

function formatBands({ labels = [] }: Scorer): string {
  const bands = labels.map(({ label, upTo, below }) => {
    if (upTo !== undefined) {
      return `${label} up to ${upTo}`;
    }
    return below === undefined ? `else ${label}` : `${label} below ${below}`;
  });
  return bands.join(', ');
}

/** Returns direction, range and labels of the scorer, or of its named scores when it has only those. */
function rangeRows({ scorer, result: { scores = [] } }: ExampleOutcome): string[] {
  const told = scorer.range === null ? scores : [{ ...scorer, name: undefined }];
  return told.map(({ name, range, higherIsBetter }) => {
    const what = name === undefined ? '' : `\`${name}\`: `;
    return `${what}${range?.join(' to ')}, ${higherIsBetter === true ? 'more' : 'less'} is better`;
  });
}

function optionRows({ given = {}, options }: ScorerPage): string {
  const rows = [...Object.entries(given), ...Object.entries(options)];
  return rows.length === 0 ? 'none' : rows.map(([name, meaning]) => `\`${name}\`: ${meaning}`).join('<br>');
}

async function formatSection(page: ScorerPage): Promise<string> {
  const outcome = await runExample(page);
  const bands = formatBands(outcome.scorer);
  return `## ${page.title}

Measures ${page.measures}.

| | |
| --- | --- |
| use it for | ${page.when} |
| in rules | ${page.rule === undefined ? 'not by name, only in a module of your own' : `\`${page.rule}\``} |
| id | \`${outcome.scorer.id}\` |
| input | ${page.input} |
| formula | ${page.formula} |
| score | ${rangeRows(outcome).join('<br>')} |
${bands === '' ? '' : `| labels | ${bands} |\n`}| options | ${optionRows(page)} |
| a 0.7 means | ${page.seven} |
| cost per run | ${page.cost} |

\`\`\`ts
${formatImports(page)}

${formatExample(page)}
${shownScores(outcome.result).join('\n')}
\`\`\`

${page.because.slice(0, 1).toUpperCase()}${page.because.slice(1)}.
`;
}

/** Returns the text of `docs/scorers.md`. */
export async function scorersPage(): Promise<string> {
  const sections: string[] = [];
  for (const page of SCORER_PAGES) {
    sections.push(await formatSection(page));
  }
  for (const page of LIBRARY_PAGES) {
    sections.push(await librarySection(page, EXAMPLE_RUN));
  }
  return `# Scorers

This page shows how each prebuilt scorer works. The end of the page shows scorers of your own, evaluations and the older metrics.

- **In programs.** Prebuilt scorers are exports of \`spanscore/scorers\` and \`spanscore/scorers/prebuilt\`. The checks are also exports of
  \`spanscore/checks\`. \`model\` is a judge: \`provider/model\`, or a language model object of the AI SDK.
- **In rules.** A rule names a scorer. To set options, add \`{ use, options }\` under \`scorers\` of the configuration, with any keys of the
  row "options". An unknown option is refused.
- **Scores.** Scores of judged scorers are rounded to two decimals. If a run cannot be scored, the result has \`notScorable\` and no
  score. If the judge fails, the run fails. Scorers without a judge give a reason in one sentence.

\`node test/docs/write-scorers-page.ts\` writes this page. A test runs the examples and compares their scores. The examples of the
prebuilt scorers use the run below. The text after each example says why the run has this score.

\`\`\`ts
import { createAgentTestRun, createTestMessage, createToolInvocation } from 'spanscore/scorers/utils';

${EXAMPLE_RUN}
\`\`\`

## Evidence

\`grounding\`, \`panel\`, \`hallucination\` and \`faithfulness\` hold an answer against all that the agent could know. Each text is a
source with a number, and a finding names the kind of its source.

| \`sees\` | the judge sees |
| --- | --- |
| always | the question and the answer |
| \`system\` | the system prompt; only the operator sets rules |
| \`user\` | earlier words of the user; they back what users tell of themselves |
| \`turns\` | earlier answers and tool calls of the agent, the newest 8,000 characters (\`earlierChars\`) |
| \`calls\`, \`tool-results\` | each call with its arguments and result: \`book_flight {"seats":2} → {"status":"confirmed"}\` |
| \`documents\` | retrieved documents |

- Where the options (\`context\`, \`getContext\`) or a run of your own (\`run.context\` without \`run.documents\`) bring a list of texts, the
  judge sees these texts alone.
- A run without tools and documents is scorable only when a document stands in a prompt: a question of 600 characters or more, or a
  block of 120 characters or more in a tag like \`<document>\`, a fence or triple quotes.
- \`grounding\` and \`panel\` believe a verdict only with a quote that stands in a source. Case, spacing, escapes, links and left out cells
  do not matter; figures do. A statement that something is missing rests on a whole source.

${sections.join('\n')}`;
}
