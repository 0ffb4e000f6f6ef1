import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IssueCase } from '../../../src/domain/issue-case.ts';
import { updateIssues } from '../../../src/issues/update-issues.ts';
import { decodeOtlpJson } from '../../../src/wire/otlp-json.ts';
import { buildFailure } from '../../support/builders/a-failure.ts';
import { anAgentTrace } from '../../support/builders/agent-trace.ts';
import { readFencedPrompt } from '../../support/builders/fenced-prompt.ts';
import { BAD_CLAIM } from '../../support/builders/planted-failures.ts';
import { type JudgeServer, replyJson, startJudgeServer } from '../../support/fakes/judge-server.ts';
import { emptyFolder, jsonLines, requireDone } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { buildScore, testStore, type TestStore } from '../../support/store/store-rows.ts';
import { store as storeSpans } from '../../support/store/stored-agent.ts';

const ID = '00000000000000a1';
const SCORER = 'grounding-faithfulness';

const folder = emptyFolder();
let base: TestStore;
let judge: JudgeServer;
let traceIds: string[];
/** Verdict of the judge on the n-th question. */
let verdictOf = (_question: number): string => 'contradicted';

beforeAll(async () => {
  [base, judge] = await Promise.all([
    testStore(),
    startJudgeServer(({ prompt, count }) => {
      const { json = '{}' } = readFencedPrompt(prompt) ?? {};
      const { sentences } = JSON.parse(json) as { sentences: Record<string, string> };
      const source = Number(/"(\d+)":\s*"[^"]*tempC/u.exec(json)?.[1] ?? 1);
      const verdict = verdictOf(count);
      return replyJson({
        verdicts: Object.keys(sentences).map((n) => ({
          n: Number(n),
          verdict,
          quotes: [{ source, quote: '"tempC":18', absence: false }],
          reason: verdict === 'contradicted' ? 'it is 18' : '',
        })),
      });
    }),
  ]);
  const { url, username, password, database } = base.options;
  const config = {
    store: { url, username, password, database },
    judges: { default: 'local/m', providers: { local: { baseURL: judge.baseUrl } } },
    rules: [{ name: 'all', scorers: ['grounding'] }],
  };
  writeFileSync(join(folder, 'spanscore.config.json'), JSON.stringify(config));
  const { store } = base;
  traceIds = await Promise.all(
    ['What is the weather?', 'And today?', 'Is it warm?'].map(async (question) => {
      const trace = anAgentTrace().asking(question).answering(BAD_CLAIM);
      const { traceId } = trace;
      await storeSpans(store, decodeOtlpJson(trace.request()).spans);
      const claim = {
        kind: 'claim' as const,
        subject: { tool: 'get_weather', path: 'tempC', verdict: 'contradicted' },
        text: BAD_CLAIM,
        scorer: SCORER,
      };
      await store.failures.write([buildFailure({ ...claim, traceId, signatureId: ID, failureId: ID })]);
      const scale = { scoreMin: 0, scoreMax: 1, higherIsBetter: true };
      await store.scores.write([
        buildScore({ traceId, targetId: traceId, scorer: SCORER, score: 0, ...scale }),
      ]);
      return traceId;
    }),
  );
  await updateIssues(store);
});
afterAll(() => Promise.all([judge.close(), base.stop()]));

const issues = (...argv: string[]) => runCommand(['issues', ...argv, '--json'], { cwd: folder });

/** Exports the tests of the issue, and returns the cases. */
async function exportCases(out: string, ...more: string[]): Promise<IssueCase[]> {
  requireDone(await issues('tests', ID, '--out', out, ...more));
  return jsonLines(readFileSync(join(folder, out, 'cases.jsonl'), 'utf8')) as IssueCase[];
}

describe('issues tests', () => {
  it('writes the failures of an issue without a question to a judge', async () => {
    const cases = await exportCases('plain');
    expect(cases.map(({ metadata }) => metadata.traceId).toSorted()).toEqual(traceIds.toSorted());
    expect(cases.map(({ metadata }) => [metadata.expect?.scorer, metadata.flaky])).toEqual(
      traceIds.map(() => [SCORER, false]),
    );
    expect(existsSync(join(folder, 'plain/issue.test.mjs'))).toBe(true);
    expect(judge.requests).toEqual([]);
  });

  it('asks the judge again where it is told to, and marks the cases whose verdict flips', async () => {
    const steady = await exportCases('steady', '--rejudge', '3');
    expect(judge.requests).toHaveLength(9);
    expect(steady.map(({ metadata }) => metadata.flaky)).toEqual([false, false, false]);
    // The second case of the three is found good once in three times.
    verdictOf = (question) => (question === 9 + 5 ? 'supported' : 'contradicted');
    const flipped = await exportCases('flipped', '--rejudge', '3');
    expect(flipped.map(({ metadata }) => metadata.flaky)).toEqual([false, true, false]);
    expect(flipped.map(({ id }) => id)).toEqual(steady.map(({ id }) => id));
  });

  it('does not know an issue that is none', async () => {
    expect((await issues('tests', '00000000000000ff', '--out', 'none')).code).toBe(4);
  });
});

describe('issues split', () => {
  it('makes an issue of the traces that it names, and refuses a trace without the issue', async () => {
    const [moved = ''] = traceIds;
    const { code, stdout } = await issues('split', ID, '--trace', moved);
    expect(code).toBe(0);
    const made = JSON.parse(stdout) as { id: string; runs: number };
    expect(made).toMatchObject({ runs: 1, kind: 'claim' });
    expect(made.id).not.toBe(ID);
    const listed = jsonLines((await issues('list')).stdout) as { id: string; runs: number }[];
    expect(listed.map(({ id, runs }) => [id, runs])).toEqual([
      [ID, 2],
      [made.id, 1],
    ]);
    expect((await issues('split', ID, '--trace', 'f'.repeat(32))).code).toBe(4);
  });
});
