import { describe, expect, it } from 'vitest';
import type { AskedAnswer } from '../../../src/domain/asked-answer.ts';
import {
  chooseExamples,
  type LabelledRun,
  readAnswers,
  tryExamples,
} from '../../../src/labels/choose-examples.ts';
import { joinTraceKey } from '../../../src/store/contracts/stores.ts';
import { seededRandom } from '../../support/builders/score-streams.ts';

const SCALE: AskedAnswer = { type: 'score', levels: ['useless: no help', 'partly', 'solved'] };
const CHOICE: AskedAnswer = { type: 'choice', options: { refund: '', other: '' } };

const run = (n: number, answer: string, question = `q${n}`): LabelledRun => ({
  tenant: '',
  traceId: n.toString(16).padStart(32, '0'),
  answer,
  question,
  sessionId: n % 3 === 0 ? `s${n % 40}` : '',
});

describe('the answer of people about a run', () => {
  it.each<[AskedAnswer, [score: number, label: string | null][], string[]]>([
    [{ type: 'boolean', good: false }, [[1, null]], ['true']],
    [
      SCALE,
      [
        [0.5, 'bad'],
        [0.5, null],
        [1, null],
      ],
      ['partly'],
    ],
    [CHOICE, [[1, 'refund']], ['refund']],
    [CHOICE, [[1, 'invoice']], []],
    [
      { type: 'boolean' },
      [
        [1, null],
        [0, null],
      ],
      [],
    ],
  ])('to %j, by the labels %j, is %j', (kind, labels, expected) => {
    const given = labels.map(([score, label]) => ({ tenant: '', traceId: 'a', score, label }));
    expect(readAnswers(kind, given).map(({ answer }) => answer)).toEqual(expected);
  });
});

describe('a trial of examples', () => {
  it('has no run, session or question on both sides, and the same sides each time', () => {
    const runs = Array.from({ length: 200 }, (_, n) => run(n, String(n % 4 === 0), `Question ${n % 80}?`));
    const most = { examples: 20, heldOut: 50 };
    const { examples, heldOut } = chooseExamples(runs, most);
    expect([examples.length, heldOut.length]).toEqual([20, 50]);
    expect(examples.filter(({ answer }) => answer === 'true')).toHaveLength(10);
    const asked = new Set(examples.flatMap(({ question, sessionId }) => [question, sessionId || 'none']));
    expect(heldOut.filter((each) => asked.has(each.question) || asked.has(each.sessionId))).toEqual([]);
    expect(chooseExamples(runs.toReversed(), most)).toEqual({ examples, heldOut });
  });

  it.each([
    [60, 0.8, 0.8, [0.01, 0.05]],
    [60, 0.8, 0.7, [0, 0.01]],
    [60, 0.75, 0.9, [0.58, 0.68]],
    [100, 0.75, 0.9, [0.77, 0.87]],
  ] as const)(
    'of %i runs, with an agreement of %d without examples and %d with them, finds a help in a share of %j',
    (count, without, withThem, [least, most]) => {
      const random = seededRandom(42);
      const runs = Array.from({ length: count }, (_, n) => run(n, 'true'));
      const answer = (share: number) =>
        new Map(runs.map((each) => [joinTraceKey(each), String(random() < share)]));
      const helped = Array.from({ length: 1_000 }, () =>
        tryExamples(runs, { without: answer(without), with: answer(withThem) }),
      ).filter(({ helps }) => helps);
      expect(helped.length / 1_000).toBeGreaterThanOrEqual(least);
      expect(helped.length / 1_000).toBeLessThanOrEqual(most);
    },
  );

  it.each([
    [5, 0, true],
    [4, 0, false],
    [9, 1, true],
    [8, 2, false],
    [0, 0, false],
  ])('finds a help in %i better runs and %i worse ones: %s', (better, worse, helps) => {
    const runs = Array.from({ length: better + worse }, (_, n) => run(n, 'true'));
    const answers = (isRight: (n: number) => boolean) =>
      new Map(runs.map((each, n) => [joinTraceKey(each), String(isRight(n))]));
    const trial = tryExamples(runs, {
      without: answers((n) => n >= better),
      with: answers((n) => n < better),
    });
    expect(trial).toMatchObject({ better, worse, helps });
  });
});
