/**
 * Measures the requests of judged scorers over the recorded runs of real emitters: the part of the requests about a run that begins
 * like another one. Then the questions and tokens of a score of a run with much evidence. `node test/bench/prompt-prefix.ts`
 */
import type { ScorerRunInput } from '../../src/evals/index.ts';
import { buildRun, JUDGED_CASES, type Material } from '../support/builders/judged-cases.ts';
import { atLeast, head, row, sumUp, verdictOn } from './bench-table.ts';
import { CHARS_PER_TOKEN, listRuns, sizeOf } from './judges/count-tokens.ts';
import { requestsOf } from './schema-judge.ts';
import type { JudgeRequest } from './schema-judge.ts';

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
    : {
        ...run,
        documents: undefined,
        context: [text.repeat(Math.ceil(chars / text.length)).slice(0, chars)],
      };
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

await benchShared(listRuns());
await benchTokens();
sumUp();
