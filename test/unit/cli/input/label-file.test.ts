import { describe, expect, it } from 'vitest';
import {
  CSV_HEAD,
  type ExportedLabel,
  formatCsv,
  formatNdjson,
  guessFormat,
  parseLabels,
} from '../../../../src/cli/input/label-file.ts';
import { fc } from '../../../support/fast-check.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

const json = (more: object = {}) =>
  JSON.stringify({ traceId: TRACE, scorer: 'tone', score: 1, reviewer: 'ann', ...more });

function exported(more: Partial<ExportedLabel> = {}): ExportedLabel {
  return {
    tenant: 'a',
    traceId: TRACE,
    spanId: '',
    sessionId: '',
    scorer: 'tone',
    score: -0.5,
    label: '',
    note: '',
    reviewer: 'ann',
    labelledAt: '2026-01-01T00:00:00.000Z',
    ...more,
  };
}

describe('a file of labels', () => {
  it('names each bad line with its number, and keeps the others', () => {
    const text = [json(), '{', '', json({ scor: 1 }), json({ score: 'high' }), json({ score: 0 })].join('\n');
    const lines = parseLabels(text, 'ndjson');
    expect(lines.map((each) => [each.line, 'fault' in each])).toEqual([
      [1, false],
      [2, true],
      [4, true],
      [5, true],
      [6, false],
    ]);
    expect(lines).toMatchObject([
      { label: { traceId: TRACE, score: 1 } },
      { fault: expect.stringContaining('JSON') },
      { fault: expect.stringMatching(/scor\b.*score/u) },
      { fault: expect.stringContaining('score') },
      { label: { score: 0 } },
    ]);
  });

  it('reads CSV with quoted cells of several lines, and counts the lines of the file', () => {
    const text = `traceId,scorer,score,passes,note\r\n${TRACE},tone,,TRUE,"a, ""b""\nc"\r\n${TRACE},tone,x,,\r\n${TRACE},tone,1\r\n${TRACE},tone,0.5,,\r\n`;
    expect(parseLabels(text, 'csv')).toMatchObject([
      { line: 3, label: { passes: true, note: 'a, "b"\nc' } },
      { line: 4, fault: expect.stringContaining('score') },
      { line: 5, fault: expect.stringContaining('5') },
      { line: 6, label: { score: 0.5 } },
    ]);
  });

  it.each([' ', '\t', '0x10', '0b1', 'Infinity', '1e999'])(
    'refuses the score %j of a line of CSV, which is no decimal number',
    (cell) => {
      const lines = parseLabels(`traceId,scorer,score,label\n${TRACE},tone,${cell},eve\n`, 'csv');
      expect(lines).toMatchObject([{ line: 2, fault: expect.stringContaining('score') }]);
    },
  );

  it.each([
    ['0', 0],
    [' 0.5 ', 0.5],
    ['-1e-7', -1e-7],
    ['+.25', 0.25],
    ['1.', 1],
  ])('reads the score %j of a line of CSV as %d', (cell, score) => {
    const lines = parseLabels(`traceId,scorer,score\n${TRACE},tone,${cell}\n`, 'csv');
    expect(lines).toMatchObject([{ label: { score } }]);
  });

  it.each([
    ['a formula', { note: '=1+2' }],
    ['a sign of its own', { note: "'=1" }],
    ['quotes, commas and lines', { note: 'a "b", c\r\nd', label: '-x' }],
    ['other scripts', { note: 'größer 価値 🎉', reviewer: '@ann' }],
  ])('comes back from its CSV as it was: %s', (_, more) => {
    const label = exported(more);
    const text = `${CSV_HEAD}\n${formatCsv(label)}\n`;
    expect(text).not.toMatch(/(^|,)"?[=@]/mu);
    const { note, label: kind, reviewer, score, scorer, traceId } = label;
    const read = { traceId, scorer, score, note, label: kind, reviewer };
    expect(parseLabels(text, 'csv')).toMatchObject([{ tenant: 'a', label: read }]);
    expect(parseLabels(formatNdjson(label), 'ndjson')).toMatchObject([{ tenant: 'a', label: read }]);
  });

  it('comes back from its CSV as it was, whatever signs and white space its note has', () => {
    const signs = ["'", '=', '+', '-', '@', '＝', ' ', '\t', '\r', '\n', '\u00a0', '\ufeff', '"', ',', 'a'];
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...signs), minLength: 1 }), (note) => {
        const text = `${CSV_HEAD}\n${formatCsv(exported({ note }))}\n`;
        expect(parseLabels(text, 'csv')).toMatchObject([{ label: { note } }]);
      }),
    );
  });

  it('is CSV or lines of JSON by its name, then by its first character', () => {
    expect(guessFormat('a.csv', '{')).toBe('csv');
    expect(guessFormat('a.ndjson', 'traceId')).toBe('ndjson');
    expect(guessFormat('a.JSONL', '')).toBe('ndjson');
    expect(guessFormat('-', '\n {"a":1}')).toBe('ndjson');
    expect(guessFormat('-', 'traceId,score')).toBe('csv');
  });
});
