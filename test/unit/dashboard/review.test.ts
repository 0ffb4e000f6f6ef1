import { describe, expect, it } from 'vitest';
import {
  chooseScorer,
  findLabelAction,
  listActions,
  NO_REVIEW,
  noteLabel,
  readProgress,
  readTexts,
  shownTarget,
  skip,
  takeBatch,
  undo,
  type Review,
  type ReviewTarget,
} from '../../../src/dashboard/view-models/review.ts';
import { FULL } from '../../support/dashboard/canned-replies.ts';
import { aReading } from '../../support/dashboard/reply-builders.ts';

const target = (targetId: string): ReviewTarget => ({ ...FULL['/labels/queue']!.items[0]!, targetId });
const [A, B, C] = [target('a'), target('b'), target('c')];
const OPEN = takeBatch(NO_REVIEW, [A, B]);
const shown = (review: Review) => shownTarget(review)?.targetId;

describe('the keys of a reviewer', () => {
  it.each([
    ['p', 'in front of an answer', OPEN, 'pass'],
    ['f', 'in front of an answer', OPEN, 'fail'],
    ['s', 'in front of an answer', OPEN, 'skip'],
    ['u', 'in front of the first answer', OPEN, undefined],
    ['u', 'after a label', noteLabel(OPEN, A, true), 'undo'],
    ['p', 'while a label is sent', { ...OPEN, phase: 'sending' }, undefined],
    ['p', 'between two batches', NO_REVIEW, undefined],
    ['p', 'after the last answer of a batch', noteLabel(noteLabel(OPEN, A, true), B, false), undefined],
    ['u', 'when nothing is left', takeBatch(skip(skip(OPEN)), []), 'undo'],
    ['p', 'when nothing is left', takeBatch(skip(skip(OPEN)), []), undefined],
    ['x', 'in front of an answer', OPEN, undefined],
  ] as const)('%s does what fits %s', (key, _, review, action) => {
    expect(findLabelAction(key, review)).toBe(action);
  });
});

describe('a queue of answers', () => {
  it('goes on after a label, and asks for the next batch after the last one', () => {
    const second = noteLabel(OPEN, A, true);
    expect(shown(second)).toBe('b');
    expect(noteLabel(second, B, false).phase).toBe('loading');
  });

  it('shows no answer of the next batch that was labelled or skipped on this page', () => {
    const between = skip(noteLabel(OPEN, A, true));
    expect(shown(takeBatch(between, [A, B, C]))).toBe('c');
  });

  it('goes back to the answer before, also into the batch before, and then a label replaces the former one', () => {
    const next = takeBatch(noteLabel(noteLabel(OPEN, A, true), B, false), [C]);
    const back = undo(next);
    expect(shown(back)).toBe('b');
    const again = noteLabel(back, B, true);
    expect(again.given.get('b')).toBe(true);
    expect(again.sinceRead).toBe(0);
    expect(shown(again)).toBe('c');
  });

  it('forgets that an answer was skipped when the reviewer goes back to it', () => {
    expect(undo(skip(OPEN)).skipped.size).toBe(0);
    expect(shown(undo(skip(OPEN)))).toBe('a');
  });

  it('counts the labels of this page in the progress', () => {
    expect(readProgress({ labelled: 4, left: 2 }, noteLabel(OPEN, A, true))).toEqual({ done: 5, all: 6 });
    expect(listActions({ ...OPEN, phase: 'sending' })).toEqual([]);
  });

  it('begins with the scorer that has the most to label', () => {
    const counts = [
      { scorer: 'tone', left: 3 },
      { scorer: 'hallucination', left: 9 },
    ];
    expect(chooseScorer(counts)).toBe('hallucination');
    expect(chooseScorer([])).toBeUndefined();
  });
});

it('a run is shown as question, answer and evidence', () => {
  const texts = readTexts(aReading().runs[0]!);
  expect(texts.question.map(({ text }) => text)).toEqual(['What is the weather in Paris?']);
  expect(texts.answer.map(({ text }) => text)).toEqual(['It is 18 degrees. The sky is sunny.']);
  expect(texts.evidence.map(({ title }) => title)).toEqual(['Tool get_weather']);
});
