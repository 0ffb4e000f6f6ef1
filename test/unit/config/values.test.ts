import { describe, expect, it, vi } from 'vitest';
import { durationMs, parseDurationMs, parseMomentMs } from '../../../src/config/units.ts';
import { isLoopbackHost, parseEndpoint } from '../../../src/config/addresses/endpoints.ts';
import { showPath } from '../../../src/config/key-path.ts';

describe('parseMomentMs', () => {
  const nowMs = Date.UTC(2026, 10, 21, 8);

  it.each([
    ['now', nowMs],
    ['1h', nowMs - 3_600_000],
    ['2026-11-21T07:00:00Z', nowMs - 3_600_000],
    ['2026-11-20', Date.UTC(2026, 10, 20)],
    ['1970-01-01', 0],
    ['2262-04-11T23:47:16.854Z', 9_223_372_036_854],
    ['2026-11-21T07:00:00', Date.UTC(2026, 10, 21, 7)],
    ['2026-11-21 07:00', Date.UTC(2026, 10, 21, 7)],
    ['2026-11-21T07:00:00.5-05:00', Date.UTC(2026, 10, 21, 12, 0, 0, 500)],
    ['2028-02-29', Date.UTC(2028, 1, 29)],
  ])('reads %s', (text, expected) => {
    expect(parseMomentMs(text, nowMs)).toBe(expected);
  });

  it('reads a time before 1970 as 1970: a long time ago means everything', () => {
    expect(parseMomentMs('36500d', nowMs)).toBe(0);
  });

  it.each(['1969-12-31', '2262-04-11T23:47:16.855Z', '2300-01-01T00:00:00Z', '9999-12-31'])(
    'refuses %s, which the store cannot hold',
    (text) => {
      expect(parseMomentMs(text, nowMs)).toBeUndefined();
    },
  );

  it('reads a time without a zone as UTC, whatever the zone of the machine', () => {
    vi.stubEnv('TZ', 'Asia/Tokyo');
    expect(new Date(2026, 10, 21).getUTCHours()).toBe(15);
    expect(parseMomentMs('2026-11-21T07:00:00', nowMs)).toBe(nowMs - 3_600_000);
    vi.unstubAllEnvs();
  });

  it.each([
    '',
    '5',
    'yesterday',
    '2026-13-40',
    '2026-02-30',
    '2026-11-31T00:00:00Z',
    '2026-11-21 (x)',
    '2026-11-21T25:00:00Z',
  ])('refuses %j', (text) => {
    expect(parseMomentMs(text, nowMs)).toBeUndefined();
  });
});

describe('durationMs', () => {
  it.each([
    ['0s', 0],
    ['500ms', 500],
    ['5s', 5000],
    ['15m', 900_000],
    ['24h', 86_400_000],
    ['30d', 2_592_000_000],
  ])('reads %s', (text, expected) => {
    expect(durationMs(text)).toBe(expected);
  });

  it.each(['', '5', '5 s', '-5s', '1.5h', '5sec', '1h30m'])('refuses %j', (text) => {
    expect(parseDurationMs(text)).toBeUndefined();
    expect(() => durationMs(text)).toThrow(/is no duration/);
  });
});

describe('parseEndpoint', () => {
  it.each([
    ['127.0.0.1:4318', { host: '127.0.0.1', port: 4318 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
    ['[::1]:80', { host: '::1', port: 80 }],
  ])('reads %s', (text, expected) => {
    expect(parseEndpoint(text)).toEqual(expected);
  });

  it.each(['4318', ':4318', 'host', 'host:70000', 'http://host:1', '::1:80', 'a b:1'])(
    'refuses %j',
    (text) => {
      expect(() => parseEndpoint(text)).toThrow(/is no endpoint/);
    },
  );

  it.each([
    ['127.0.0.1', true],
    ['127.1.2.3', true],
    ['localhost', true],
    ['::1', true],
    ['0.0.0.0', false],
    ['127.0.0.1.evil.example', false],
    ['10.0.0.1', false],
  ])('knows whether only this machine can reach %s', (host, expected) => {
    expect(isLoopbackHost(host)).toBe(expected);
  });
});

describe('showPath', () => {
  it('writes a path as people do', () => {
    expect(showPath(['rules', 0, 'where', 'attributes', 'customer.tier'])).toBe(
      'rules[0].where.attributes["customer.tier"]',
    );
  });
});
