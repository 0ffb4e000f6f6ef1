import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { benchJudges, ITEMS } from '../bench/judges/bench-judges.ts';
import { readItems } from '../bench/judges/judge-items.ts';
import { answerSchema, type Schema } from '../bench/schema-judge.ts';
import { judgeFaults, replyJson, startJudgeServer } from '../support/fakes/judge-server.ts';
import type { JudgeScript, JudgeServer } from '../support/fakes/judge-server.ts';
import { emptyFolder } from '../support/processes/cli.ts';

const usage = { prompt_tokens: 100, completion_tokens: 10 };

/** Answers every question from its schema. */
const anyJudge: JudgeScript = ({ body, prompt }) => {
  const schema = body.response_format?.json_schema?.schema as Schema;
  return replyJson(JSON.parse(answerSchema(schema, prompt)), { usage });
};

/** Finds each answer with the word "idiot" toxic, and cannot answer about "500". */
const toxicJudge: JudgeScript = ({ prompt }) =>
  prompt.includes('500')
    ? judgeFaults.badRequest()
    : replyJson(
        { verdicts: prompt.includes('idiot') ? [{ passage: 'idiot', reason: 'r', verdict: 'yes' }] : [] },
        { usage },
      );

const folder = emptyFolder();
const config = join(folder, 'spanscore.yaml');
let server: JudgeServer;
let printed: string[];

beforeAll(async () => {
  server = await startJudgeServer(anyJudge);
  writeFileSync(
    config,
    `judges: {providers: {test: {baseURL: '${server.baseUrl}'}}, prices: {test/judge: {input: 1, output: 10}}}`,
  );
});
afterAll(() => server.close());

beforeEach(() => {
  printed = [];
  vi.spyOn(console, 'log').mockImplementation((line: string) => printed.push(line));
  vi.spyOn(console, 'error').mockImplementation((line: string) => printed.push(line));
});

/** Writes items as JSON lines, and returns the file. */
function write(...items: readonly (object | string)[]): string {
  const file = join(folder, 'items.jsonl');
  writeFileSync(
    file,
    items.map((item) => (typeof item === 'string' ? item : JSON.stringify(item))).join('\n'),
  );
  return file;
}

/** Runs the command with items, and returns the cells of each line of a scorer. */
async function measure(items: string, ...more: readonly string[]): Promise<string[][]> {
  printed = [];
  const code = await benchJudges(['--judge', 'test/judge', '--config', config, '--items', items, ...more]);
  expect({ code, printed: code === 0 ? '' : printed.join('\n') }).toEqual({ code: 0, printed: '' });
  return printed.map((line) =>
    line
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1),
  );
}

const item = { question: 'Why?', answer: 'Because.', label: 'good', scorer: 'toxicity' };

describe('bench:judges', () => {
  it('measures accuracy, failures, tokens and cost, and tells the same interval again', async () => {
    server.script(toxicJudge);
    const items = write(
      item,
      { ...item, answer: 'Only an idiot asks.' },
      { ...item, answer: 'You idiot!', label: 'bad' },
      { ...item, answer: '500', label: 'bad' },
    );
    const lines = await measure(items);
    expect(lines.find(([name]) => name === 'toxicity')).toEqual([
      'toxicity',
      '0.75',
      '0.50 to 1.00',
      '0.50',
      '1.00',
      '3',
      '0',
      '1',
      '300',
      '30',
      '0.0006',
    ]);
    expect(lines.at(-2)).toEqual(['toxicity', 'line 2', 'good', expect.stringContaining('score 1')]);
    expect(lines.at(-1)).toEqual(['toxicity', 'line 4', 'bad', expect.stringContaining('failed: ')]);
    expect(await measure(items)).toEqual(lines);
  });

  it('gets an answer about every item of the repository, with as many good items as bad ones for each scorer', async () => {
    server.script(anyJudge);
    const file = ITEMS.pathname;
    const items = readItems(readFileSync(file, 'utf8'), file);
    for (const [name, own] of Map.groupBy(items, ({ measured }) => measured.name)) {
      expect({ name, good: own.filter(({ isGood }) => isGood).length }).toEqual({
        name,
        good: own.length / 2,
      });
    }
    const lines = await measure(
      file,
      '--scorers',
      'grounding,answer-relevancy,bias,toxicity,prompt-alignment,tool-call-accuracy-llm',
    );
    expect(lines.filter((cells) => cells.at(3)?.startsWith('failed: '))).toEqual([]);
    expect(lines.find(([name]) => name === 'grounding')?.slice(5, 8)).toEqual(['50', '0', '0']);
  });

  it.each([
    [
      'a column that is unknown',
      { ...item, lable: 'bad' },
      'items.jsonl:2: unknown "lable"; remove it or rename it',
    ],
    ['an item without a label', { question: 'a', answer: 'b' }, 'items.jsonl:2: label: '],
    ['a label of other words', { ...item, label: 1 }, 'label is "good" or "bad"'],
    [
      'a scorer that is unknown',
      { ...item, scorer: 'truth' },
      'items.jsonl:2: "truth" is no judged scorer; write one of ',
    ],
    [
      'an option that the scorer needs',
      { ...item, scorer: 'rubric' },
      'items.jsonl:2: rubric needs options.criteria',
    ],
    ['a line that is no JSON', '{"question"', 'items.jsonl:2: the line is no JSON'],
  ])('refuses %s, with file and line', async (_what, second, message) => {
    const file = write(item, second);
    expect(await benchJudges(['--judge', 'test/judge', '--config', config, '--items', file])).toBe(1);
    expect(printed.join('\n')).toContain(message);
  });

  it.each([
    ['no judge', [], 'add --judge provider/model'],
    ['a provider without an address', ['--judge', 'other/judge'], 'unknown judge provider "other"'],
    [
      'a scorer without a judge',
      ['--judge', 'test/judge', '--scorers', 'tone'],
      '"tone" is no judged scorer',
    ],
    ['no item of a scorer', ['--judge', 'test/judge', '--scorers', 'rubric'], 'no item is for rubric'],
  ])('refuses %s before the first question', async (_what, args, message) => {
    const asked = server.requests.length;
    expect(await benchJudges(['--config', config, ...args])).toBe(1);
    expect(printed.join('\n')).toContain(message);
    expect(server.requests).toHaveLength(asked);
  });
});
