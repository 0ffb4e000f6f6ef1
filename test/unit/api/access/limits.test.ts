import { describe, expect, it, vi } from 'vitest';
import { createRequestRate, createWrongTokenReport } from '../../../../src/api/access/limits.ts';
import { buildCookie, readCookie } from '../../../../src/api/access/request-access.ts';
import { createSignInBrake } from '../../../../src/api/resources/sign-in.ts';
import { sha256 } from '../../../../src/domain/identity.ts';
import { createLog } from '../../../../src/telemetry/log.ts';

describe('the rate of requests', () => {
  it('allows a minute of requests at once, then one for each part of a minute', () => {
    let nowMs = 0;
    const rate = createRequestRate(60, () => nowMs);
    const waits = Array.from({ length: 61 }, () => rate.take('a'));
    expect(waits.slice(0, 60)).toEqual(Array.from({ length: 60 }, () => 0));
    expect(waits[60]).toBe(1_000);
    expect(rate.take('b')).toBe(0);
    nowMs = 1_000;
    expect([rate.take('a'), rate.take('a')]).toEqual([0, 1_000]);
    nowMs = 10_000_000;
    expect(rate.take('a')).toBe(0);
  });
});

describe('the brake of wrong tokens', () => {
  function brakeAt() {
    const clock = { nowMs: 0 };
    const brake = createSignInBrake(() => clock.nowMs);
    return {
      clock,
      fail: (address: string, times = 1) => Array.from({ length: times }, () => brake.fail(address)),
    };
  }

  it('tells an address to wait after five of them, for a time that doubles up to a minute', () => {
    const { fail } = brakeAt();
    expect(fail('10.0.0.1', 13)).toEqual([
      0, 0, 0, 0, 0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000,
    ]);
    expect(fail('10.0.0.2')).toEqual([0]);
  });

  it('forgets an address after 15 minutes', () => {
    const { fail, clock } = brakeAt();
    fail('10.0.0.2', 6);
    clock.nowMs += 15 * 60_000 + 1;
    expect(fail('10.0.0.2')).toEqual([0]);
  });

  it('counts a network of IPv6 addresses as one', () => {
    const { fail } = brakeAt();
    fail('2001:db8:0:1::1', 3);
    fail('2001:db8:0:1:2:3:4:5', 3);
    expect(fail('2001:db8:0:1:9:9:9:9')).toEqual([2_000]);
    expect(fail('2001:db8:0:2::1')).toEqual([0]);
    expect(fail('::1')).toEqual([0]);
  });

  it('keeps a thousand addresses: the oldest is forgotten', () => {
    const { fail } = brakeAt();
    fail('first', 6);
    for (let index = 0; index < 999; index += 1) {
      fail(`other-${index}`);
    }
    expect(fail('first')).toEqual([2_000]);
    for (let index = 0; index < 1_000; index += 1) {
      fail(`more-${index}`);
    }
    expect(fail('first')).toEqual([0]);
  });
});

describe('requests with wrong tokens', () => {
  it('are counted each, and logged at once and then once a minute', () => {
    vi.useFakeTimers();
    const lines: string[] = [];
    const counts: unknown[] = [];
    const log = createLog('info', {
      format: 'json',
      destination: { write: (line) => void lines.push(line) },
    });
    const report = createWrongTokenReport(log, { add: (...count) => void counts.push(count) });
    const logged = () => lines.splice(0).map((line) => (JSON.parse(line) as { requests: number }).requests);
    report('10.0.0.1', 'bearer');
    expect(logged()).toEqual([1]);
    report('10.0.0.1', 'bearer');
    report('10.0.0.2', 'sign-in');
    expect(logged()).toEqual([]);
    vi.advanceTimersByTime(60_000);
    expect(logged()).toEqual([2]);
    vi.advanceTimersByTime(600_000);
    expect(logged()).toEqual([]);
    expect(counts).toEqual(
      ['bearer', 'bearer', 'sign-in'].map((proof) => ['spanscore.api.tokens.wrong', 1, { proof }]),
    );
    vi.useRealTimers();
  });
});

describe('a cookie', () => {
  const digest = sha256('token');
  const ID = '0190c5a2-7d3e-4a4e-9d55-0242ac120002';

  it('is of the token that it was made with, until its end', () => {
    const value = buildCookie('key', { digest, id: ID, expiresAtMs: 100_000 });
    const cookie = readCookie('key', value, 99_999);
    expect(cookie?.id).toBe(ID);
    expect(cookie?.isOf(digest)).toBe(true);
    expect(cookie?.isOf(sha256('another'))).toBe(false);
    expect(readCookie('another key', value, 0)?.isOf(digest)).toBe(false);
    expect(readCookie('key', value, 100_000)).toBeUndefined();
  });

  it.each([
    '',
    '2',
    `1.100.${ID}.${'A'.repeat(43)}`,
    `2..${ID}.x`,
    `2.100.x.${'A'.repeat(43)}`,
    `2.100.${ID}.${'é'.repeat(43)}`,
  ])('of another format is none: %s', (value) => {
    expect(readCookie('key', value, 0)).toBeUndefined();
  });
});
