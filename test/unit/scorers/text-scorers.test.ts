import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as prebuilt from '../../../src/scorers/prebuilt/index.ts';
import { createCompletenessScorer } from '../../../src/scorers/prebuilt/index.ts';
import type { RunnableScorer } from '../../../src/scorers/evals/scorer.ts';
import { createAgentTestRun, createTestMessage } from '../../../src/scorers/shared/utils.ts';
import { listSentences } from '../../../src/scorers/prebuilt/tone.ts';
import { fc } from '../../support/fast-check.ts';
import { listKeywords } from '../../../src/scorers/prebuilt/keyword-coverage.ts';
import { commonSubsequenceLength } from '../../../src/scorers/prebuilt/textual-difference.ts';
import { listUncovered } from '../../../src/scorers/prebuilt/completeness.ts';
import { answeredRun } from '../../support/builders/answered-run.ts';

const { checks } = prebuilt;
const CASES = new URL('../../fixtures/reports/17-keywords-punctuation/cases.json', import.meta.url);
const cases = JSON.parse(readFileSync(CASES, 'utf8')) as {
  question: string;
  answer: string;
  score: number;
}[];

function buildRun(question: string, answer: string, tools: readonly string[] = []) {
  const toolInvocations = tools.map((toolName, index) => ({
    toolCallId: String(index),
    toolName,
    args: {},
    ...(toolName === 'broken' ? { result: { error: 'down' } } : { result: 1 }),
  }));
  return createAgentTestRun({
    inputMessages: [createTestMessage({ role: 'user', content: question })],
    output: [createTestMessage({ role: 'assistant', content: answer, toolInvocations })],
  });
}

async function readScore(scorer: unknown, question: string, answer: string): Promise<number | undefined> {
  return (await (scorer as RunnableScorer).run(buildRun(question, answer))).score;
}

describe('keyword coverage', () => {
  it.each([
    ...cases,
    { question: '„Köln“, ‚Bonn‘ ›Kiel‹?', answer: 'Köln Bonn Kiel', score: 1 },
    { question: 'Paris—Rome/Oslo·Bern', answer: 'Bern, Oslo, Rome, Paris', score: 1 },
    { question: '【ＴＯＫＹＯ】！ ﾄｳｷｮｳ。', answer: 'tokyo トウキョウ', score: 1 },
    { question: 'อากาศกรุงเทพ?', answer: '«อากาศกรุงเทพ»', score: 1 },
    { question: 'Երևա՞ն, Երևան՞', answer: 'Երևան', score: 1 },
    { question: '☔ → Paris™ ☂️ 🎉 €5 50 %', answer: 'Paris', score: 1 },
    { question: 'don’t miss Donau\u00ADdampf', answer: 'Donaudampf', score: 0.5 },
    { question: 'cafe\u0301 Zu\u0308rich', answer: 'café Zürich', score: 1 },
    { question: 'C++ or C#?', answer: 'C', score: 0 },
    { question: 'See (https://example.com/docs).', answer: 'https://example.com/docs!', score: 1 },
  ])('of "$question" by "$answer" is $score', async ({ question, answer, score: expected }) => {
    expect(await readScore(prebuilt.createKeywordCoverageScorer(), question, answer)).toBe(expected);
  });
});

describe('scorers that compare texts', () => {
  const composed = 'Où est le café à Zürich? Ελλάδα й が 한국';
  const decomposed = composed.normalize('NFD');
  it.each([
    ['keyword coverage', prebuilt.createKeywordCoverageScorer()],
    ['content similarity', prebuilt.createContentSimilarityScorer()],
    ['textual difference', prebuilt.createTextualDifferenceScorer()],
    ['completeness', prebuilt.createCompletenessScorer()],
    ['the tone of a reference', prebuilt.createToneScorer({ referenceTone: composed })],
    ['the check includes', checks.includes('CAFÉ À')],
    ['the check equals', checks.equals(composed)],
    ['the check matches', checks.matches(/^O. est le caf. à/)],
    ['the check matches with escaped accents', checks.matches(/cafe\u0301 a\u0300/)],
    ['the check similarity', checks.similarity(composed, { threshold: 1 })],
  ])('find composed and decomposed accents equal: %s', async (_name, scorer) => {
    expect(await readScore(scorer, composed, decomposed)).toBe(1);
  });

  it('find a forbidden text whatever its accents are made of', async () => {
    expect(await readScore(checks.excludes('café'), '', decomposed)).toBe(0);
  });

  it('read the tone of words in any punctuation', async () => {
    const [plain, quoted] = ["I don't like this awful trip.", 'I don’t like this „awful“ trip…'];
    expect(await readScore(prebuilt.createToneScorer({ referenceTone: plain }), '', quoted)).toBe(1);
    expect(await readScore(prebuilt.createToneScorer(), '', 'Wonderful。Terrible！')).toBeLessThan(0.5);
  });

  it('cover words with letters that have no plain form', async () => {
    expect(await readScore(prebuilt.createCompletenessScorer(), 'øre', 're')).toBe(0);
  });

  it('take no longer for endless accents', async () => {
    const hostile = `a${'\u0301\u0323'.repeat(100_000)}`;
    expect(await readScore(prebuilt.createKeywordCoverageScorer(), hostile, hostile)).toBe(1);
  }, 2000);
});

describe('code scorers', () => {
  const many = 'alpha beta gamma delta epsilon zeta eta';
  it.each<readonly [string, unknown, ReturnType<typeof buildRun>, string]>([
    [
      'keyword-coverage',
      prebuilt.createKeywordCoverageScorer(),
      buildRun(many, 'alpha'),
      '6 of 7 keywords are missing: beta, gamma, delta, epsilon, zeta and 1 more.',
    ],
    [
      'keyword-coverage of a question without keywords',
      prebuilt.createKeywordCoverageScorer(),
      buildRun('', 'alpha'),
      'The question has no keywords.',
    ],
    [
      'keyword-coverage of a long keyword',
      prebuilt.createKeywordCoverageScorer(),
      buildRun('x'.repeat(500), ''),
      `1 of 1 keyword is missing: ${'x'.repeat(39)}….`,
    ],
    [
      'content-similarity',
      prebuilt.createContentSimilarityScorer(),
      buildRun('night', 'nacht'),
      'Question and answer share 25 % of their letter pairs.',
    ],
    [
      'textual-difference',
      prebuilt.createTextualDifferenceScorer(),
      buildRun('a red cat', 'a red hat'),
      '89 % of both texts are equal in the same order; 1 word differs.',
    ],
    [
      'completeness',
      prebuilt.createCompletenessScorer(),
      buildRun('alpha beta', 'alpha'),
      '1 of 2 elements are not covered: beta.',
    ],
    [
      'tone',
      prebuilt.createToneScorer(),
      buildRun('', 'It is good.'),
      'The sentiment of the sentences is 1 on average, with a variance of 0.',
    ],
    [
      'tone with a reference',
      prebuilt.createToneScorer({ referenceTone: 'good' }),
      buildRun('', 'bad'),
      'The sentiment of the answer is -3, of the reference 3: a difference of 6.',
    ],
    [
      'tool-call-accuracy-code',
      prebuilt.createToolCallAccuracyScorerCode({ expectedTool: 'weather' }),
      buildRun('q', 'a', ['maps', 'news']),
      'The tools were not called as expected: weather; called: maps, news.',
    ],
    [
      'trajectory-accuracy-code',
      prebuilt.createTrajectoryAccuracyScorerCode({
        expectedTrajectory: [{ name: 'weather' }, { name: 'maps' }],
      }),
      buildRun('q', 'a', ['maps']),
      'Steps: 1 of 2 taken as expected; missing: weather.',
    ],
    [
      'trajectory-code',
      prebuilt.createTrajectoryScorerCode({ defaults: { steps: [{ name: 'weather' }] } }),
      buildRun('q', 'a', ['maps']),
      'The trajectory scores 0.\nSteps: 0 of 1 taken as expected; missing: weather; not expected: maps',
    ],
    ['includes', checks.includes('18'), buildRun('q', '17'), 'The answer does not contain "18".'],
    ['excludes', checks.excludes('18'), buildRun('q', '18'), 'The answer contains "18".'],
    ['equals', checks.equals('18'), buildRun('q', '18'), 'The answer is "18".'],
    [
      'matches',
      checks.matches(/\d+/),
      buildRun('q', 'a'),
      String.raw`The pattern /\d+/ does not match the answer.`,
    ],
    [
      'similarity',
      checks.similarity('night', { threshold: 0.5 }),
      buildRun('q', 'nacht'),
      'The answer shares 25 % of the letter pairs with "night"; the threshold is 50 %.',
    ],
    [
      'called-tool',
      checks.calledTool('maps', { times: 2 }),
      buildRun('q', 'a', ['maps']),
      'maps was called 1 time; at least 2 is expected.',
    ],
    ['did-not-call', checks.didNotCall('maps'), buildRun('q', 'a'), 'maps was not called.'],
    [
      'tool-order',
      checks.toolOrder(['a', 'b']),
      buildRun('q', 'a', ['b', 'a']),
      'The tools were not called in this order: a, b; called: b, a.',
    ],
    [
      'max-tool-calls',
      checks.maxToolCalls(1),
      buildRun('q', 'a', ['b', 'a']),
      'The run made 2 tool calls; at most 1 are allowed.',
    ],
    ['used-no-tools', checks.usedNoTools(), buildRun('q', 'a', ['b']), 'The run made 1 tool call.'],
    [
      'no-tool-errors',
      checks.noToolErrors(),
      buildRun('q', 'a', ['b', 'broken']),
      '1 of 2 tool calls failed or got no result: broken.',
    ],
  ])('say why: %s', async (_name, scorer, run, reason) => {
    expect((await (scorer as RunnableScorer).run(run as never)).reason).toBe(reason);
  });
});

describe('sentences', () => {
  it('are the sentences that the pattern of the reference finds', () => {
    const text = fc.string({ unit: fc.constantFrom('a', ' ', '.', '!', '?', '\n') });
    fc.assert(
      fc.property(text, (given) => {
        expect(listSentences(given)).toEqual(given.match(/[^.!?]+[.!?]+/g) ?? [given]);
      }),
    );
  });

  it('of a long text without an end take one pass over it', () => {
    const endless = 'a'.repeat(3_000_000);
    expect(listSentences(endless)).toEqual([endless]);
  });
});

describe('keywords', () => {
  it('are cut out of scripts that write without spaces, grammar left out', () => {
    expect([...listKeywords('東京の人口は何人ですか')]).toEqual(['東京', '人口', '何人']);
  });

  it('keep web addresses as they are and drop markup', () => {
    expect([...listKeywords('See <b>the</b> https://example.com/A?x=1 <> "page"')]).toEqual([
      'https://example.com/A?x=1',
      'page',
    ]);
  });

  it('of hostile text take one pass over it', () => {
    const hostile = '<'.repeat(2_000_000);
    expect([...listKeywords(hostile)]).toEqual([]);
  });
});

/** The textbook table, row by row. */
function byTable(first: string, second: string): number {
  let row = Array.from({ length: second.length + 1 }, () => 0);
  for (const unit of first.split('')) {
    const next = [0];
    for (let index = 0; index < second.length; index += 1) {
      const same = unit === second[index];
      next.push(same ? (row[index] ?? 0) + 1 : Math.max(row[index + 1] ?? 0, next[index] ?? 0));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

describe('the longest common subsequence', () => {
  it('is as long as the textbook says, over word borders of the bit rows too', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '👩'), maxLength: 150 });
    await fc.assert(
      fc.asyncProperty(text, text, async (first, second) => {
        expect(await commonSubsequenceLength(first, second)).toBe(byTable(first, second));
      }),
    );
  });

  it('lets other work have its turn while it compares long texts, and ends when called off', async () => {
    const long = 'abcdefghij'.repeat(3_000);
    const half = await commonSubsequenceLength(long, `${'x'.repeat(long.length)}${long}`);
    expect(half).toBe(long.length);

    const controller = new AbortController();
    const work = commonSubsequenceLength(long, long.repeat(3), controller.signal);
    controller.abort();
    await expect(work).rejects.toThrow(/abort/i);
  });
});

describe('the completeness scorer', () => {
  it('counts words of other scripts', async () => {
    const scorer = createCompletenessScorer();
    const { score, preprocessStepResult } = await scorer.run(answeredRun('東京 погода', '東京は晴れ'));
    expect(preprocessStepResult?.inputElements).toEqual(['東京', 'погода']);
    expect(score).toBe(0.5);
  });

  it('lets other work run while it reads a long text', async () => {
    const lines = Array.from({ length: 40 }, (_, line) => `Order ${line} was shipped and paid on time.`);
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 1);
    await createCompletenessScorer().run(answeredRun('Was it shipped?', lines.join('\n')));
    clearInterval(counting);
    expect(turns).toBeGreaterThan(0);
  });

  it('stops when the run is called off', async () => {
    const lines = Array.from({ length: 400 }, (_, line) => `Order ${line} was shipped and paid on time.`);
    const controller = new AbortController();
    const running = createCompletenessScorer().run(answeredRun('Was it shipped?', lines.join('\n')), {
      abortSignal: controller.signal,
    });
    controller.abort();
    await expect(running).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('takes a long sentence and a word without end in parts', async () => {
    const { preprocessStepResult } = await createCompletenessScorer().run(
      answeredRun('alpha '.repeat(200), 'x'.repeat(5000)),
    );
    expect(preprocessStepResult?.inputElements).toEqual(['alpha']);
    expect(preprocessStepResult?.elementCounts.output).toBeGreaterThan(1);
  });
});

/** The rule, word by word: short words by equality, others when one holds the other and is not much longer. */
function listSlowly(wanted: readonly string[], given: readonly string[]): string[] {
  return wanted.filter(
    (word) =>
      !given.some((other) => {
        const [shorter, longer] = word.length > other.length ? [other, word] : [word, other];
        return word.length <= 3
          ? word === other
          : longer.includes(shorter) && shorter.length / longer.length > 0.6;
      }),
  );
}

describe('covered elements', () => {
  it('are found by the rule, for words of any length', () => {
    const word = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 8 }),
      fc.string({ unit: fc.constantFrom('a'), minLength: 20, maxLength: 80 }),
    );
    const words = fc.uniqueArray(word, { maxLength: 12 });
    fc.assert(
      fc.property(words, words, (wanted, given) => {
        expect(listUncovered(wanted, given)).toEqual(listSlowly(wanted, given));
      }),
    );
  });
});
