import { describe, expect, it } from 'vitest';
import { markAnswer } from '../../../src/dashboard/view-models/answer.ts';
import { keepFrame, readFrame, searchPath } from '../../../src/dashboard/view-models/frame.ts';
import { describeDecision } from '../../../src/dashboard/view-models/decisions.ts';
import { fillPath } from '../../../src/dashboard/view-models/paths/fill-path.ts';
import { comparePath, sessionPath, tracePath } from '../../../src/dashboard/view-models/paths/row-paths.ts';
import {
  formatDirection,
  formatDuration,
  formatNumber,
  formatPercent,
  formatScore,
  formatTime,
  formatUsd,
} from '../../../src/dashboard/view-models/format.ts';
import { matchPath } from '../../../src/dashboard/view-models/paths/match-path.ts';
import { showParts } from '../../../src/dashboard/view-models/messages.ts';
import { classifyProblem } from '../../../src/dashboard/view-models/problem.ts';
import { findAction } from '../../../src/dashboard/view-models/shortcuts.ts';
import { cutForReading, showValue, visibleText } from '../../../src/dashboard/view-models/visible-text.ts';
import { aDecisionItem } from '../../support/dashboard/reply-builders.ts';

describe('numbers for people', () => {
  it.each([
    [formatNumber(5_130), '5,130'],
    [formatScore(0.250_04), '0.25'],
    [formatScore(null), '–'],
    [formatPercent(412, 5_130), '8 %'],
    [formatPercent(1, 400), '0.3 %'],
    [formatPercent(0, 400), '0 %'],
    [formatPercent(1, 0), '–'],
    [formatUsd(0.002_14), '$0.0021'],
    [formatUsd(12.4), '$12.40'],
    [formatUsd(0), '$0.00'],
    [formatUsd(null), '–'],
    [formatDuration(5), '5 ms'],
    [formatDuration(1_800), '1.8 s'],
    [formatDuration(240_000), '4 min'],
    [formatDuration(null), '–'],
    [formatTime('2026-11-21T07:05:18.791Z'), '2026-11-21 07:05:18'],
    [formatDirection(true), '↑ higher is better'],
    [formatDirection(false), '↓ lower is better'],
    [formatDirection(null), 'direction not known'],
  ])('%s is %s', (written, expected) => {
    expect(written).toBe(expected);
  });
});

describe('texts of traces', () => {
  it('show what would hide or reorder them', () => {
    expect(visibleText('a\u0000b\u001B[31mc')).toBe('a␀b␛[31mc');
    expect(visibleText('pay \u202Eevil\u2066')).toBe('pay [U+202E]evil[U+2066]');
    expect(visibleText('zero\u200Bwidth')).toBe('zero[U+200B]width');
    expect(visibleText('lone \uD800 half')).toBe('lone \uFFFD half');
    expect(visibleText('line\nnext\ttab')).toBe('line\nnext\ttab');
    expect(visibleText('<b>&amp; 😀 ü')).toBe('<b>&amp; 😀 ü');
  });

  it('are cut when they are very long', () => {
    expect(cutForReading('a'.repeat(5_000))).toEqual({ shown: 'a'.repeat(4_000), hidden: 1_000 });
    expect(cutForReading('short')).toEqual({ shown: 'short', hidden: 0 });
  });

  it('stay as they are, other values become JSON', () => {
    expect(showValue('text')).toBe('text');
    expect(showValue({ a: 1 })).toBe('{\n  "a": 1\n}');
    expect(showValue(undefined)).toBe('undefined');
  });
});

describe('paths', () => {
  it('are filled with their parameters and their query', () => {
    const path = fillPath(
      '/traces/:traceId',
      { traceId: 'a/b' },
      { since: '24h', service: ['x', 'y'], none: undefined },
    );

    expect(path).toBe('/traces/a%2Fb?since=24h&service=x&service=y');
    expect(fillPath('/scores/{scoreId}', { scoreId: 's' })).toBe('/scores/s');
    expect(fillPath('/sessions/:sessionId', { sessionId: '\uD800' })).toBe('/sessions/%EF%BF%BD');
    expect(() => fillPath('/traces/:traceId')).toThrow('needs traceId');
  });

  it('name the tenant of a trace and of a session, unless it is the empty one', () => {
    const [ofTenant, ofNone] = ['a', ''].map((tenant) => ({ tenant, traceId: 't', sessionId: 's' }));

    expect(tracePath(ofTenant!, { tab: 'raw' })).toBe('/traces/t?tab=raw&tenant=a');
    expect(sessionPath(ofTenant!)).toBe('/sessions/s?tenant=a');
    expect(tracePath(ofNone!)).toBe('/traces/t');
    expect(sessionPath(ofNone!)).toBe('/sessions/s');
  });

  it('compare versions also of an agent without a name, not scorers of the same names', () => {
    const versions = { left: '1.4.0', right: '1.5.0' };
    expect(comparePath('a', versions)).toBe('/compare?agent=a&left=1.4.0&right=1.5.0');
    expect(comparePath('', versions)).toBe('/compare?tab=versions&left=1.4.0&right=1.5.0');
  });

  it('ask the API for the empty tenant by name, too', () => {
    expect(fillPath('/traces/{traceId}', { traceId: 't' }, { tenant: '', cursor: '' })).toBe(
      '/traces/t?tenant=',
    );
  });

  it.each([
    ['/', '/', {}],
    ['/traces', '/traces', {}],
    ['/traces/', '/traces', {}],
    ['/traces/abc', '/traces/:traceId', { traceId: 'abc' }],
    ['/scores/a%2Fb', '/scores/:scorer', { scorer: 'a/b' }],
  ])('%s belongs to the page %s', (path, page, params) => {
    expect(matchPath(path)).toEqual({ page, params });
  });

  it.each(['/nothing', '/traces/a/b', '/scores/%E0%A4%A', '/traces//'])('%s belongs to no page', (path) => {
    expect(matchPath(path)).toBeUndefined();
  });
});

describe('keys', () => {
  it.each([
    ['g', undefined, { kind: 'wait' }],
    ['t', 'g', { kind: 'go', path: '/traces' }],
    ['t', undefined, undefined],
    ['x', 'g', undefined],
    ['?', undefined, { kind: 'help' }],
    ['/', undefined, { kind: 'search' }],
    ['j', undefined, { kind: 'next' }],
    ['k', undefined, { kind: 'previous' }],
    ['j', 'g', { kind: 'go', path: '/judges' }],
  ])('%s after %s does %o', (key, before, action) => {
    expect(findAction(key, before)).toEqual(action);
  });
});

describe('problems', () => {
  const problem = (status: number, title = 'x') => ({
    status,
    title,
    detail: '',
    errors: [],
    retryAfterS: undefined,
  });

  it.each([
    [problem(401), 'signed-out'],
    [problem(403), 'forbidden'],
    [problem(404), 'missing'],
    [problem(503, 'Starting'), 'starting'],
    [problem(503), 'failed'],
    [problem(0), 'failed'],
  ])('%o is %s', (given, kind) => {
    expect(classifyProblem(given)).toBe(kind);
  });
});

describe('messages', () => {
  it('show tool calls with their results and failures, and no file', () => {
    const call = { toolCallId: 'c', toolName: 'get_order', args: { id: 881 } };
    const parts = showParts({
      content: {
        format: 2,
        parts: [
          { type: 'text', text: 'hello' },
          { type: 'tool-invocation', toolInvocation: { ...call, state: 'result', result: 'shipped' } },
          {
            type: 'tool-invocation',
            toolInvocation: { ...call, state: 'output-error', errorText: 'no order' },
          },
          { type: 'tool-invocation', toolInvocation: { ...call, state: 'call' } },
          { type: 'file', mimeType: 'image/png', data: 'abcd' },
        ],
      },
    });

    expect(parts.map(({ title, result }) => [title, result])).toEqual([
      ['', undefined],
      ['Tool get_order', { isError: false, text: 'shipped' }],
      ['Tool get_order', { isError: true, text: 'no order' }],
      ['Tool get_order (call)', undefined],
      ['File, image/png', undefined],
    ]);
    expect(parts.at(-1)?.text).toContain('4 characters');
  });
});

describe('decisions', () => {
  it.each([
    [
      { status: 'sampled_out', inclusionProbability: 0.1, scorer: '*', reason: '' },
      '– Rule production did not draw it (10 % of such traces are scored).',
    ],
    [
      { status: 'scored', stratum: 'priority', reason: '' },
      '✓ Hallucination of rule production scored it (such traces are always scored).',
    ],
    [
      { status: 'deferred', inclusionProbability: 1, reason: 'budget_exhausted: 0.25 of 0.25 USD spent' },
      '… Hallucination of rule production waits: budget exhausted: 0.25 of 0.25 USD spent.',
    ],
  ] as const)('%o is a sentence', (more, expected) => {
    const { sign, sentence } = describeDecision(
      aDecisionItem({ scorer: 'hallucination', rule: 'production', stratum: 'uniform', ...more }),
    );
    expect(`${sign} ${sentence}`).toBe(expected);
  });
});

describe('an answer', () => {
  it.each([
    ['It rains. The sky is blue.', ['the sky is blue'], ['It rains. ', ['The sky is blue'], '.'], []],
    [
      'Order A-1 was cancelled, and a voucher of 5 euros was sent.',
      ['Order A-1 was cancelled.', 'The voucher is worth 5 euros.'],
      [['Order A-1 was cancelled'], ', ', ['and a voucher of 5 euros was sent'], '.'],
      [],
    ],
    ['It is 3.5 degrees.', ['It is 3.5 degrees'], [['It is 3.5 degrees'], '.'], []],
    ['Hello.', ['Nothing of this was said anywhere'], ['Hello.'], [0]],
    ['', ['x'], [], [0]],
  ])('%s has the claims %o in their places', (answer, claims, parts, elsewhere) => {
    const marked = markAnswer(answer, claims);
    expect(marked.parts.map(({ text, claims: made }) => (made.length === 0 ? text : [text]))).toEqual(parts);
    expect(marked.elsewhere).toEqual(elsewhere);
    expect(marked.parts.map(({ text }) => text).join('')).toBe(answer);
  });
});

describe('the bar of the frame', () => {
  const search = new URLSearchParams('since=7d&agent=a&cursor=x&span=s');

  it('is kept by links, unless they name a filter of it themselves; a range stays whole', () => {
    expect(keepFrame('/traces', search)).toBe('/traces?since=7d&agent=a');
    expect(keepFrame('/traces?agent=b&q=x', search)).toBe('/traces?agent=b&q=x&since=7d');
    expect(keepFrame('/traces?until=2026-01-01', search)).toBe('/traces?until=2026-01-01&agent=a');
  });

  it('looks back a day, and further for a search, for labels, and for what is rare', () => {
    expect(readFrame('/', new URLSearchParams())).toEqual({ since: ['24h'] });
    expect(readFrame('/traces', new URLSearchParams('q=refund'))).toEqual({ since: ['90d'] });
    expect(readFrame('/review', new URLSearchParams())).toEqual({ since: ['7d'] });
    expect(readFrame('/alerts', new URLSearchParams())).toEqual({ since: ['90d'] });
    expect(readFrame('/compare', new URLSearchParams('agent=a'))).toEqual({ since: ['90d'], agent: ['a'] });
    expect(readFrame('/', search)).toEqual({ since: ['7d'], agent: ['a'] });
  });

  it.each([
    ['0AF7651916CD43DD8448EB211C80319C', '/traces/0af7651916cd43dd8448eb211c80319c'],
    [' user 7 ', '/traces?q=user+7'],
  ])('finds %s at %s', (text, path) => {
    expect(searchPath(text)).toBe(path);
  });
});
