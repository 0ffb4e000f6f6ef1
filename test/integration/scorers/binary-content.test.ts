import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readTraces } from '../../../src/conventions/index.ts';
import { configureJudges } from '../../../src/judge/judge-registry.ts';
import { createScorer, type ScorerRunInput } from '../../../src/scorers/evals/index.ts';
import { JUDGED_CASES, MATERIAL, buildRun } from '../../support/builders/judged-cases.ts';
import type { JudgedCase } from '../../support/builders/judged-cases.ts';
import { replyJson, startJudgeServer } from '../../support/fakes/judge-server.ts';
import type { JudgeServer } from '../../support/fakes/judge-server.ts';

const FOLDER = new URL('../../fixtures/reports/04-image-in-tool-result/', import.meta.url);
const ENCODED = /[A-Za-z0-9+/=_-]{200}/;
const CHECK_EVIDENCE = ['hallucination', 'faithfulness', 'grounding'];

let server: JudgeServer;
let models = 0;

beforeAll(async () => {
  server = await startJudgeServer(() => replyJson({}));
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
  configureJudges({ providers: { local: { baseURL: server.baseUrl } } });
});

/** Lets the judge give these replies in turn, and returns its name. */
function scriptJudge(replies: readonly object[]): string {
  const left = [...replies];
  server.script(() => replyJson(left.shift() ?? {}));
  models += 1;
  return `local/eyes-${models}`;
}

function readReported(file: string): ScorerRunInput {
  const [run] = readTraces(readFileSync(new URL(file, FOLDER), 'utf8')).flatMap(({ runs }) => runs);
  expect(run?.context.join('')).toMatch(ENCODED);
  return { ...run, output: run?.output, groundTruth: MATERIAL.groundTruth };
}

async function listQuestions(judged: JudgedCase, run: ScorerRunInput): Promise<string> {
  const scorer = judged.create(scriptJudge(judged.replies), { reason: false });
  // The replies are about another answer, so the end of the run may fail.
  await scorer.run(run).catch(() => undefined);
  return server.requests
    .flatMap(({ body }) => body.messages.map((message) => String(message.content)))
    .join('\n');
}

const image = readReported('image-mcp.jsonl').context?.[0] ?? '';
const picture = `![photo](data:image/png;base64,${'iVBORw0KGgoA'.repeat(400)})`;
const RUNS: readonly [where: string, run: ScorerRunInput][] = [
  ['a tool result of MCP', readReported('image-mcp.jsonl')],
  ['a data URL in a tool result', readReported('image-dataurl.jsonl')],
  [
    'every text of the run',
    buildRun({
      question: `${MATERIAL.question} ${picture}`,
      answer: `${MATERIAL.answer} ${picture}`,
      context: [image, picture],
      city: picture,
      groundTruth: `${MATERIAL.groundTruth} ${picture}`,
      operator: `${MATERIAL.operator} ${picture}`,
    }),
  ],
];

describe.each(RUNS)('an image in %s', (_where, run) => {
  it.each(JUDGED_CASES.map((judged) => ({ name: judged.name, judged })))(
    'is in no question of $name',
    async ({ judged }) => {
      const said = await listQuestions(judged, run);
      expect(said).not.toBe('');
      expect(said).not.toMatch(ENCODED);
    },
  );

  it.each(JUDGED_CASES.filter(({ name }) => CHECK_EVIDENCE.includes(name)))(
    'has a mark in the evidence of $name, beside the text of the tool',
    async (judged) => {
      const said = await listQuestions(judged, run);
      expect(said).toMatch(/18 degrees/);
      expect(said).toMatch(/\[image\/png, \d+ kB\]/);
    },
  );

  it('is in no question of an own scorer, whose code reads it', async () => {
    let read = '';
    const own = createScorer({
      id: 'own',
      judge: { model: scriptJudge([{ score: 1 }]), instructions: 'Judge it.' },
    }).generateScore({
      description: 'A score',
      createPrompt: ({ run: given }) => {
        read = JSON.stringify(given);
        return `Look at this run: ${read}`;
      },
    });
    expect(await own.run(run)).toMatchObject({ score: 1 });
    expect(read).toMatch(ENCODED);
    expect(server.requests[0]?.prompt).not.toMatch(ENCODED);
  });
});
