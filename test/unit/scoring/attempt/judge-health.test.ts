import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createJudgeHealth, type JudgeHealth } from '../../../../src/scoring/attempt/judge-health.ts';
import { createLog, type Log } from '../../../../src/telemetry/log.ts';

let lines: string[];
let health: JudgeHealth;

interface Line {
  readonly msg: string;
  readonly kind?: string;
  readonly failures?: number;
  readonly deferred?: number;
  readonly failed?: number;
}

/** A log whose lines are the message and the counts that matter here. */
function linesLog(): Log {
  const write = (json: string) => {
    const { msg, kind, failures, deferred, failed } = JSON.parse(json) as Line;
    const counts = deferred === undefined ? [] : [`${deferred} deferred, ${failed} failed`];
    const facts = [kind, failures?.toString()].filter((fact) => fact !== undefined);
    lines.push([msg, ...facts, ...counts].join(' | '));
  };
  return createLog('info', { format: 'json', destination: { write } });
}

const JUDGED = { judge: 'openai/gpt-5-mini', scorer: 'hallucination' };

function fails(kind: string, status: 'deferred' | 'failed' = 'deferred') {
  health.observe({ ...JUDGED, status, kind, reason: `judge_unavailable: ${kind}` });
}

function succeeds() {
  health.observe({ ...JUDGED, status: 'scored', kind: '', reason: '' });
}

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  lines = [];
  health = createJudgeHealth({ log: linesLog() });
});

afterEach(() => {
  health.stop();
  vi.useRealTimers();
});

describe('a judge that fails', () => {
  it('is logged at the first failure of each kind, and then with counts each minute', () => {
    ['HTTP 500', 'HTTP 500', 'HTTP 401', 'HTTP 500'].forEach((kind) => fails(kind));
    fails('malformed reply', 'failed');
    expect(lines).toEqual([
      'judge fails | HTTP 500',
      'judge fails | HTTP 401',
      'judge fails | malformed reply',
    ]);
    vi.advanceTimersByTime(60_000);
    expect(lines.slice(3)).toEqual(['judge still fails | 4 deferred, 1 failed']);
    fails('HTTP 500');
    vi.advanceTimersByTime(60_000);
    expect(lines.slice(4)).toEqual(['judge still fails | 1 deferred, 0 failed']);
  });

  it('is logged as working again at the first success after it', () => {
    fails('HTTP 500');
    fails('HTTP 500');
    expect(health.states()).toMatchObject([{ ...JUDGED, state: 'failing', failingSinceMs: 1_000_000 }]);
    succeeds();
    expect(lines).toEqual(['judge fails | HTTP 500', 'judge works again | 2']);
    expect(health.states()).toMatchObject([
      { state: 'ok', failingSinceMs: null, deferred: 2, kinds: { 'HTTP 500': 2 }, succeeded: 1 },
    ]);
    vi.advanceTimersByTime(600_000);
    expect(lines).toHaveLength(2);
  });

  it('now and then gives few lines, however often it happens', () => {
    for (let minute = 0; minute < 10; minute += 1) {
      for (let turn = 0; turn < 60; turn += 1) {
        fails('timeout');
        succeeds();
        vi.advanceTimersByTime(1_000);
      }
    }
    expect(lines.length).toBeLessThanOrEqual(2 + 2 * 10);
    expect(lines.filter((line) => line === 'judge fails | timeout')).toHaveLength(1);
    expect(lines).toContain('judge still fails | 59 deferred, 0 failed');
  });

  it('is logged a last time at the stop', () => {
    fails('HTTP 500');
    health.stop();
    expect(lines.at(-1)).toBe('judge still fails | 1 deferred, 0 failed');
  });

  it('logs nothing about a working judge, and names a scorer without a judge', () => {
    succeeds();
    vi.advanceTimersByTime(120_000);
    expect(lines).toEqual([]);
    health.observe({ judge: '', scorer: 'mine', status: 'failed', kind: 'scorer_failed', reason: 'x' });
    expect(lines).toEqual(['scorer fails | scorer_failed']);
  });
});

describe('a judge that a budget holds back', () => {
  it.each(['budget', 'budget_exhausted'])('never fails, by the log and its state (%s)', (kind) => {
    fails(kind);
    vi.advanceTimersByTime(60_000);
    expect(health.states()).toMatchObject([
      { state: 'ok', failingSinceMs: null, lastFailure: null, deferred: 1, kinds: { [kind]: 1 } },
    ]);
    succeeds();
    expect(lines).toEqual([
      `judge is held back by a budget | ${kind}`,
      'judge is still held back by a budget | 1 deferred, 0 failed',
      'judge is no longer held back by a budget | 0',
    ]);
  });

  it('fails from its first fault on, and works again after it', () => {
    fails('budget');
    vi.advanceTimersByTime(1_000);
    fails('HTTP 500');
    expect(health.states()).toMatchObject([{ state: 'failing', failingSinceMs: 1_001_000 }]);
    vi.advanceTimersByTime(59_000);
    succeeds();
    expect(lines.slice(1)).toEqual([
      'judge fails | HTTP 500',
      'judge still fails | 2 deferred, 0 failed',
      'judge works again | 1',
    ]);
  });
});
