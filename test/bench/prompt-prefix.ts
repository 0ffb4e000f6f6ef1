/**
 * Measures the requests of judged scorers over the recorded runs of real emitters: the size of each scorer's input beside its
 * size before prompts shared a beginning, and the part of the requests about a run that begins like another one. Then the questions and
 * tokens of a score of a run with much evidence.
 * `node test/bench/prompt-prefix.ts [--freeze]`
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { decodeTraces, readTrace } from '../../src/conventions/index.ts';
import type { ScorerRunInput } from '../../src/evals/index.ts';
import { computeFenceCode } from '../../src/judge/fence-code.ts';
import { withJudgeScope } from '../../src/judge/judge-scope.ts';
import { readAnswer, readQuestion } from '../../src/scorers/prebuilt/shared/read-answer.ts';
import { buildRun, JUDGED_CASES, type Material } from '../support/builders/judged-cases.ts';
import { listExpectations, recordedSpans } from '../support/recordings/recorded-spans.ts';
import { atLeast, atMost, head, row, sumUp, verdictOn } from './bench-table.ts';
import { createSchemaJudge } from './schema-judge.ts';
import type { JudgeRequest } from './schema-judge.ts';

/** Input characters of each scorer over the same runs, before. Written by `--freeze`. */
const BEFORE = new URL('prompt-sizes.json', import.meta.url);
const MAX_GROWTH = 1.05;
const MIN_SHARED = 60;
const TRIO = ['hallucination', 'faithfulness', 'answer-relevancy'];
/**
 * Lengths of evidence. The recorded runs are first examples of frameworks: half of them have 40 characters of evidence or
 * less, so that schemas and tasks, which differ, are most of a request.
 */
const EVIDENCE = [
  { name: 'as recorded', chars: 0, hasGoal: false },
  { name: '1,000 characters', chars: 1_000, hasGoal: false },
  { name: '4,000 characters', chars: 4_000, hasGoal: true },
  { name: '16,000 characters', chars: 16_000, hasGoal: true },
];

/** Run of the last table: an answer of ten sentences, with 4,000 characters of evidence. */
const LONG_RUN: Material = {
  question: 'How warm is it in Paris, and what should I take with me this evening? Please say why.',
  answer: Array.from(
    { length: 10 },
    (_, index) =>
      `At ${index + 10} o'clock it is ${index + 12} degrees in Paris, and it may rain a little in the west.`,
  ).join(' '),
  context: [
    "Paris: 18 degrees, clouds, rain from 18 o'clock, wind from the west.\n".repeat(60).slice(0, 4_000),
  ],
};

/** Characters of a token, about. */
const CHARS_PER_TOKEN = 4;

/** Returns the recorded runs that have a question, an answer and evidence. */
function listRuns(): ScorerRunInput[] {
  const texts = (['spans', 'spans-multi'] as const).flatMap((folder) =>
    listExpectations(folder).map(([name]) => recordedSpans(folder, name)),
  );
  return texts
    .flatMap((text) => (text === '' ? [] : decodeTraces(text).traces))
    .flatMap((trace) => readTrace(trace).runs)
    .filter(({ scorable, context }) => scorable && context.length > 0)
    .map(({ input, output, context }) => ({ input, output, context, groundTruth: context.join(' ') }))
    .filter((run) => readQuestion(run).trim() !== '' && readAnswer(run).trim() !== '');
}

async function requestsOf(names: readonly string[], run: ScorerRunInput): Promise<JudgeRequest[]> {
  const judge = createSchemaJudge();
  await withJudgeScope({ fenceCode: computeFenceCode('one run') }, async () => {
    for (const name of names) {
      const judged = JUDGED_CASES.find((candidate) => candidate.name === name);
      await judged?.create(judge.model as never).run({ ...run });
    }
  });
  return judge.requests;
}

function sizeOf({ system, user, schema }: JudgeRequest): number {
  return system.length + user.length + schema.length;
}

async function measureSizes(runs: readonly ScorerRunInput[]): Promise<Record<string, number>> {
  const sizes: Record<string, number> = {};
  for (const { name } of JUDGED_CASES) {
    let chars = 0;
    for (const run of runs) {
      chars += (await requestsOf([name], run)).reduce((sum, request) => sum + sizeOf(request), 0);
    }
    sizes[name] = chars;
  }
  return sizes;
}

function sharedLength(text: string, other: string): number {
  let length = 0;
  while (length < text.length && text[length] === other[length]) {
    length += 1;
  }
  return length;
}

/** Percent of the requests about a run that stand in a beginning which another request about the run has, too. */
function percentShared(
  requests: readonly JudgeRequest[][],
  write: (request: JudgeRequest) => string,
): number {
  let shared = 0;
  let all = 0;
  for (const texts of requests.map((ofRun) => ofRun.map(write))) {
    for (const [index, text] of texts.entries()) {
      const others = texts.filter((_, at) => at !== index);
      shared += Math.max(...others.map((other) => sharedLength(text, other)));
      all += text.length;
    }
  }
  return (100 * shared) / all;
}

/** Returns a run with its evidence repeated up to a length; the run itself for 0. */
function withEvidence(run: ScorerRunInput, chars: number): ScorerRunInput {
  const text = `${(run.context ?? []).join('\n')}\n`;
  return chars === 0
    ? run
    : { ...run, context: [text.repeat(Math.ceil(chars / text.length)).slice(0, chars)] };
}

async function benchShared(runs: readonly ScorerRunInput[]): Promise<void> {
  head(
    `${TRIO.join(', ')}: part of their requests about a run that begins like another one, schemas included`,
    'evidence of the run',
    'messages, then the schema',
    'schema, then the messages',
    'goals',
  );
  for (const { name, chars, hasGoal } of EVIDENCE) {
    const requests: JudgeRequest[][] = [];
    for (const run of runs) {
      requests.push(await requestsOf(TRIO, withEvidence(run, chars)));
    }
    const messagesFirst = percentShared(requests, ({ system, user, schema }) => system + user + schema);
    const schemaFirst = percentShared(requests, ({ system, user, schema }) => schema + system + user);
    const goals = hasGoal
      ? [messagesFirst, schemaFirst].map((shared) => atLeast(shared, MIN_SHARED, '%'))
      : [];
    row(name, `${messagesFirst.toFixed(0)} %`, `${schemaFirst.toFixed(0)} %`, verdictOn(name, goals));
  }
}

async function benchSizes(runs: readonly ScorerRunInput[]): Promise<void> {
  const before = JSON.parse(readFileSync(BEFORE, 'utf8')) as Record<string, number>;
  head(
    `Input of each scorer over ${runs.length} recorded runs: characters a run, schemas included`,
    'scorer',
    'before',
    'now',
    'now ÷ before',
    'goals',
  );
  for (const [name, chars] of Object.entries(await measureSizes(runs))) {
    const former = before[name] ?? chars;
    const ratio = chars / former;
    const perRun = [former, chars].map((sum) => Math.round(sum / runs.length));
    row(name, ...perRun, ratio.toFixed(3), verdictOn(name, [atMost(ratio, MAX_GROWTH, '')]));
  }
}

async function benchTokens(): Promise<void> {
  head(
    'A score of a run with 4,000 characters of evidence and an answer of ten sentences: 4 characters a token, schemas included',
    'scorer',
    'questions',
    'input tokens',
    'output tokens',
  );
  for (const { name } of JUDGED_CASES) {
    const requests = await requestsOf([name], buildRun(LONG_RUN));
    const sum = (chars: (request: JudgeRequest) => number) =>
      Math.round(requests.reduce((all, request) => all + chars(request), 0) / CHARS_PER_TOKEN);
    row(name, `${requests.length}`, `${sum(sizeOf)}`, `${sum(({ reply }) => reply.length)}`);
  }
}

const recorded = listRuns();
if (process.argv.includes('--freeze')) {
  writeFileSync(BEFORE, `${JSON.stringify(await measureSizes(recorded), null, 2)}\n`);
}
await benchSizes(recorded);
await benchShared(recorded);
await benchTokens();
sumUp();
