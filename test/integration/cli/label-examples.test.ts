import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AskedExample } from '../../../src/domain/asked-answer.ts';
import type { ExampleTrial } from '../../../src/labels/choose-examples.ts';
import { decodeOtlpJson } from '../../../src/wire/otlp-json.ts';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { readFencedPrompt } from '../../support/builders/fenced-prompt.ts';
import { type JudgeServer, replyJson, startJudgeServer } from '../../support/fakes/judge-server.ts';
import { emptyFolder, requireDone } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import { buildScore, storeFlags, testStore, type TestStore } from '../../support/store/store-rows.ts';
import { store as storeSpans } from '../../support/store/stored-agent.ts';

/** What a judge sees of a run, and the examples beside it. */
interface Shown {
  readonly user: unknown;
  readonly answer: string;
  readonly examples?: Readonly<Record<string, { readonly question: string; readonly answer: boolean }>>;
}

const cwd = emptyFolder();
const isWarm = (answer: string) => answer.includes('warm');
let base: TestStore;
let judge: JudgeServer;

beforeAll(async () => {
  [base, judge] = await Promise.all([testStore(), startJudgeServer(() => replyJson({}))]);
  const config = {
    judges: { default: 'local/m', providers: { local: { baseURL: judge.baseUrl } } },
    scorers: {
      warm: { ask: 'Does it promise fine weather?', sees: ['question', 'answer'] },
      few: { ask: 'Is it short?' },
    },
    rules: [],
  };
  writeFileSync(join(cwd, 'spanscore.config.json'), JSON.stringify(config));
  // Two people ask each question in other spellings, and get the same answer.
  for (let n = 0; n < 60; n += 1) {
    const place = Math.floor(n / 2);
    const question = n % 2 === 0 ? `Weather in town ${place}?` : `weather  in TOWN ${place}?`;
    const answer = place % 3 === 0 ? `It is cold in town ${place}.` : `It is warm in town ${place}.`;
    const trace = anAgentTrace().asking(question).answering(answer);
    const { traceId } = trace;
    const sessionId = `session-${traceId}`;
    await storeSpans(base.store, decodeOtlpJson(trace.request()).spans);
    await base.store.runs.write([
      buildRunRecord({ traceId, sessionId, question, evidenceUntil: Date.now() }),
    ]);
    const label = { traceId, targetId: traceId, source: 'human', traceTimestamp: Date.now() } as const;
    await base.store.scores.write([
      buildScore({ ...label, scorer: 'warm', score: isWarm(answer) ? 1 : 0, scoredBy: 'ann' }),
      ...(n < 6 ? [buildScore({ ...label, scorer: 'few', score: 1, scoredBy: 'ann' })] : []),
    ]);
  }
});
afterAll(() => Promise.all([judge.close(), base.stop()]));

const examplesOf = (scorer: string, ...argv: string[]) =>
  runCommand(['labels', 'examples', '--scorer', scorer, ...argv, ...storeFlags(base.options)], { cwd });

/** Chooses examples for a judge that answers so. */
async function choose(answerOf: (shown: Shown) => boolean) {
  const shown: Shown[] = [];
  judge.script(({ prompt }) => {
    const seen = JSON.parse(readFencedPrompt(prompt)!.json) as Shown;
    shown.push(seen);
    return replyJson({ quote: '', reason: '', answer: answerOf(seen) });
  });
  const done = await examplesOf('warm', '--json');
  requireDone(done);
  return {
    shown,
    trial: JSON.parse(done.stdout) as ExampleTrial & { readonly examples: readonly AskedExample[] },
  };
}

const nameQuestion = (question: string) => question.toLowerCase().replace(/\s+/gu, ' ');

describe('labelled runs', () => {
  it('become examples when a judge agrees with more held-out labels', async () => {
    const { trial, shown } = await choose(({ answer, examples }) => examples === undefined || isWarm(answer));
    expect(trial).toMatchObject({ helps: true, worse: 0, agreeing: { with: trial.heldOut } });
    expect(trial.better).toBeGreaterThanOrEqual(5);
    expect(trial.examples.filter(({ answer }) => answer === true)).toHaveLength(3);
    expect(trial.examples).toHaveLength(6);
    expect(shown).toHaveLength(2 * trial.heldOut);
  });

  it('are no examples for a judge that only copies the answer of an equal question', async () => {
    const isEqual = ({ user }: Shown, { question }: { readonly question: string }) =>
      nameQuestion(JSON.stringify(user)).includes(nameQuestion(question));
    const copy = (seen: Shown) =>
      Object.values(seen.examples ?? {}).find((each) => isEqual(seen, each))?.answer ?? true;
    const { trial, shown } = await choose(copy);
    expect(trial).toMatchObject({ helps: false, better: 0, worse: 0, examples: [] });
    const withExamples = shown.filter(({ examples }) => examples !== undefined);
    expect(withExamples).toHaveLength(trial.heldOut);
    for (const seen of withExamples) {
      const examples = Object.values(seen.examples ?? {});
      expect(examples).toHaveLength(6);
      expect(examples.filter((each) => isEqual(seen, each))).toEqual([]);
    }
  });

  it.each<[string, (shown: Shown) => boolean]>([
    ['pays no heed to them', () => true],
    ['they confuse', ({ answer, examples }) => (examples === undefined) === isWarm(answer)],
  ])('are no examples for a judge that %s', async (_, answerOf) => {
    expect((await choose(answerOf)).trial).toMatchObject({ helps: false, examples: [] });
  });

  it('are printed as the entry of a configuration, or with the reason why not', async () => {
    judge.script(({ prompt }) => {
      const { answer, examples } = JSON.parse(readFencedPrompt(prompt)!.json) as Shown;
      return replyJson({ quote: '', reason: '', answer: examples === undefined || isWarm(answer) });
    });
    expect((await examplesOf('warm', '--limit', '1')).stdout).toMatch(
      /^Of \d+ runs .*\nscorers:\n {2}warm:\n {4}examples:\n {6}- \{"traceId":"[0-9a-f]{32}","answer":(?:true|false)\}\n$/u,
    );
    judge.script(() => replyJson({ quote: '', reason: '', answer: true }));
    expect((await examplesOf('warm')).stdout).toContain('no help beyond chance');
  });

  it.each([
    ['few', /6 runs with a label for few leave \d to try examples on/u],
    ['grounding', /grounding asks no question of yours/u],
  ])('of %s are refused with a reason', async (scorer, expected) => {
    const { code, stderr } = await examplesOf(scorer);
    expect(code).toBe(2);
    expect(stderr).toMatch(expected);
  });
});
