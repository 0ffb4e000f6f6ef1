import { describe, expect, it } from 'vitest';
import { createRequestRate } from '../../../../src/api/access/request-rate.ts';
import { buildCookie, readCookie } from '../../../../src/api/access/session-cookie.ts';
import { createSignInBrake } from '../../../../src/api/access/sign-in-brake.ts';
import { sha256 } from '../../../../src/domain/identity.ts';

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

describe('the brake of failed sign-ins', () => {
  function brakeAt() {
    const clock = { nowMs: 0 };
    return { clock, brake: createSignInBrake(() => clock.nowMs) };
  }
  const fail = (brake: ReturnType<typeof createSignInBrake>, address: string, times: number) => {
    for (let count = 0; count < times; count += 1) {
      brake.countFailure(address);
    }
  };

  it('lets an address wait after five failures, for a time that doubles up to a minute', () => {
    const { brake, clock } = brakeAt();
    fail(brake, '10.0.0.1', 4);
    expect(brake.readWaitMs('10.0.0.1')).toBe(0);
    const waits = Array.from({ length: 8 }, () => {
      fail(brake, '10.0.0.1', 1);
      return brake.readWaitMs('10.0.0.1');
    });
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    expect(brake.readWaitMs('10.0.0.2')).toBe(0);
    clock.nowMs += 60_000;
    expect(brake.readWaitMs('10.0.0.1')).toBe(0);
  });

  it('forgets an address after a sign-in, and after 15 minutes', () => {
    const { brake, clock } = brakeAt();
    fail(brake, '10.0.0.1', 6);
    fail(brake, '10.0.0.2', 6);
    brake.release('10.0.0.1');
    expect(brake.readWaitMs('10.0.0.1')).toBe(0);
    clock.nowMs += 15 * 60_000 + 1;
    fail(brake, '10.0.0.2', 4);
    expect(brake.readWaitMs('10.0.0.2')).toBe(0);
  });

  it('counts a network of IPv6 addresses as one', () => {
    const { brake } = brakeAt();
    fail(brake, '2001:db8:0:1::1', 3);
    fail(brake, '2001:db8:0:1:2:3:4:5', 3);
    expect(brake.readWaitMs('2001:db8:0:1:9:9:9:9')).toBe(2_000);
    expect(brake.readWaitMs('2001:db8:0:2::1')).toBe(0);
    expect(brake.readWaitMs('::1')).toBe(0);
  });

  it('keeps a thousand addresses: the oldest is forgotten', () => {
    const { brake } = brakeAt();
    fail(brake, 'first', 6);
    for (let index = 0; index < 999; index += 1) {
      fail(brake, `other-${index}`, 1);
    }
    expect(brake.readWaitMs('first')).toBe(2_000);
    fail(brake, 'one more', 1);
    expect(brake.readWaitMs('first')).toBe(0);
  });
});

describe('a cookie', () => {
  const digest = sha256('token');

  it('is of the token that it was made with, until its end', () => {
    const value = buildCookie('key', digest, 100_000);
    const cookie = readCookie('key', value, 99_999);
    expect(cookie?.isOf(digest)).toBe(true);
    expect(cookie?.isOf(sha256('another'))).toBe(false);
    expect(readCookie('another key', value, 0)?.isOf(digest)).toBe(false);
    expect(readCookie('key', value, 100_000)).toBeUndefined();
  });

  it.each(['', '1', '2.100.x', '1..', '1.99999999999999.x', `1.100.${'é'.repeat(43)}`])(
    'of another format is none: %s',
    (value) => {
      expect(readCookie('key', value, 0)).toBeUndefined();
    },
  );
});
