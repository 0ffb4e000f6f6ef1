import { describe, expect, it } from 'vitest';
import {
  buildWaterfall,
  listOpenRows,
  moveInWaterfall,
} from '../../../src/dashboard/view-models/waterfall.ts';
import { aSpanItem, aTrace, ROOT_SPAN, TOOL_SPAN } from '../../support/dashboard/reply-builders.ts';

const MODEL_SPAN = 'b7ad6b7169203333';
const rows = buildWaterfall(aTrace());
const idsOf = (list: typeof rows) => list.map(({ span }) => span.spanId);

describe('the waterfall of a trace', () => {
  it('has each step under its parent, in the order of their begin', () => {
    expect(idsOf(rows)).toEqual([ROOT_SPAN, TOOL_SPAN, MODEL_SPAN]);
    expect(rows.map(({ level }) => level)).toEqual([1, 2, 2]);
    expect(rows.map(({ offset, width }) => [offset, width])).toEqual([
      [0, 1],
      [0.2, 0.3],
      [0.6, 0.35],
    ]);
  });

  it('has scores of an agent on its span, not those of the whole trace, and counts the claims that cite a span', () => {
    const trace = aTrace();
    const [score] = trace.scores;
    const scores = [
      ...trace.scores,
      { ...score!, target: 'agent' as const, spanId: TOOL_SPAN, verdicts: [] },
    ];
    expect(buildWaterfall({ ...trace, scores }).map((row) => [row.scores.length, row.citations])).toEqual([
      [0, 0],
      [1, 2],
      [0, 0],
    ]);
  });

  it('shows spans whose parents never came, and spans that are each other’s parents, once each', () => {
    const orphan = aSpanItem({ spanId: 'a'.repeat(16), parentSpanId: 'f'.repeat(16) });
    const circle = [
      aSpanItem({ spanId: 'b'.repeat(16), parentSpanId: 'c'.repeat(16) }),
      aSpanItem({ spanId: 'c'.repeat(16), parentSpanId: 'b'.repeat(16) }),
      aSpanItem({ spanId: 'd'.repeat(16), parentSpanId: 'd'.repeat(16) }),
    ];

    const ids = idsOf(buildWaterfall({ spans: [orphan, ...circle], scores: [] }));

    expect(ids.toSorted()).toEqual(['a', 'b', 'c', 'd'].map((letter) => letter.repeat(16)));
  });

  it('is built for a trace that is nested 10,000 deep', () => {
    const id = (depth: number) => depth.toString(16).padStart(16, '0');
    const spans = Array.from({ length: 10_000 }, (_, depth) =>
      aSpanItem({ spanId: id(depth), parentSpanId: depth === 0 ? '' : id(depth - 1) }),
    );

    const deep = buildWaterfall({ spans, scores: [] });

    expect(deep).toHaveLength(10_000);
    expect(deep.at(-1)?.level).toBe(10_000);
    expect(listOpenRows(deep, new Set([id(3)]))).toHaveLength(4);
  });

  it('is empty for a trace without spans', () => {
    expect(buildWaterfall({ spans: [], scores: [] })).toEqual([]);
  });
});

describe('the keys of the waterfall', () => {
  const move = (key: string, spanId: string, closed: readonly string[] = []) =>
    moveInWaterfall(listOpenRows(rows, new Set(closed)), new Set(closed), { key, spanId });

  it.each([
    ['ArrowDown', ROOT_SPAN, { kind: 'focus', spanId: TOOL_SPAN }],
    ['ArrowDown', MODEL_SPAN, undefined],
    ['ArrowUp', TOOL_SPAN, { kind: 'focus', spanId: ROOT_SPAN }],
    ['ArrowUp', ROOT_SPAN, undefined],
    ['End', ROOT_SPAN, { kind: 'focus', spanId: MODEL_SPAN }],
    ['Home', MODEL_SPAN, { kind: 'focus', spanId: ROOT_SPAN }],
    ['ArrowRight', ROOT_SPAN, { kind: 'focus', spanId: TOOL_SPAN }],
    ['ArrowRight', TOOL_SPAN, undefined],
    ['ArrowLeft', TOOL_SPAN, { kind: 'focus', spanId: ROOT_SPAN }],
    ['ArrowLeft', ROOT_SPAN, { kind: 'close', spanId: ROOT_SPAN }],
    ['Enter', TOOL_SPAN, { kind: 'select', spanId: TOOL_SPAN }],
    [' ', TOOL_SPAN, { kind: 'select', spanId: TOOL_SPAN }],
    ['x', TOOL_SPAN, undefined],
  ])('%s on %s does %o', (key, spanId, expected) => {
    expect(move(key, spanId)).toEqual(expected);
  });

  it('open a closed step', () => {
    expect(move('ArrowRight', ROOT_SPAN, [ROOT_SPAN])).toEqual({ kind: 'open', spanId: ROOT_SPAN });
    expect(move('ArrowDown', ROOT_SPAN, [ROOT_SPAN])).toBeUndefined();
  });
});
