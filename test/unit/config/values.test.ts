import { describe, expect, it, vi } from 'vitest';
import {
  byteSize,
  durationMs,
  parseByteSize,
  parseDurationMs,
  parseMomentMs,
} from '../../../src/config/units.ts';
import { isLoopbackHost, parseEndpoint } from '../../../src/config/addresses/endpoints.ts';
import { showPath } from '../../../src/config/key-path.ts';
import { z } from 'zod';
import { checkValue } from '../../../src/config/faults/schema-issues.ts';
import { InvalidInputError } from '../../../src/domain/errors.ts';
import {
  addressPolicy,
  createAddressPolicy,
  isAddressOrNetwork,
  isLinkLocalUrl,
  writtenAddress,
} from '../../../src/config/addresses/private-addresses.ts';

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

it('reads sizes in powers of 1024', () => {
  const read = ['12B', '4KiB', '256MiB', '1GiB'].map((text) => byteSize(text));
  expect(read).toEqual([12, 4_096, 268_435_456, 1_073_741_824]);
});

it('takes nothing else for a size, and says how one is written', () => {
  expect(['256', '1.5GiB', '256MB', '-1B', ''].map((text) => parseByteSize(text))).toEqual(
    Array.from({ length: 5 }),
  );
  expect(() => byteSize('256MB')).toThrow('"256MB" is no size: write a number and a unit, like 256MiB');
});

const schema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  share: z.number().gt(0).lt(1).optional(),
  name: z.string().min(2).max(4).optional(),
  tags: z.array(z.string()).min(1).optional(),
  rule: z.union([z.string().min(1), z.record(z.string(), z.unknown())]).optional(),
  at: z.iso.datetime({ error: 'write a date and time' }).optional(),
});

describe('a value from outside', () => {
  it('comes back with its defaults', () => {
    expect(checkValue(schema, { name: 'abc' })).toEqual({ limit: 100, name: 'abc' });
  });

  it.each([
    [{ limit: '0' }, 'limit: must be at least 1, not 0'],
    [{ limit: 1_001 }, 'limit: must be at most 1000, not 1001'],
    [{ limit: '1.5' }, 'limit: must be a whole number, not 1.5'],
    [{ limit: 'many' }, 'limit: must be a number'],
    [{ share: 0 }, 'share: must be more than 0, not 0'],
    [{ share: 1 }, 'share: must be less than 1, not 1'],
    [{ name: 7 }, 'name: must be a text, not 7; write "7"'],
    [{ name: 'a' }, 'name: must have at least 2 characters'],
    [{ name: 'abcde' }, 'name: must have at most 4 characters'],
    [{ tags: [] }, 'tags: must have at least 1 entry'],
    [{ tags: ['a', 1] }, 'tags[1]: must be a text, not 1; write "1"'],
    [{ rule: [] }, 'rule: must be a text or a group of keys, not a list'],
    [{ at: 'noon' }, 'at: write a date and time'],
    [{ limitt: 5 }, 'limitt: unknown key; did you mean limit?'],
    [{ limit: 0, share: 2 }, 'limit: must be at least 1, not 0; share: must be less than 1, not 2'],
    ['text', 'must be a group of keys, not "text"; its keys are limit, share, name, tags, rule, at'],
  ])('that cannot be used is refused in words that say what to give: %j', (value, words) => {
    expect(() => checkValue(schema, value)).toThrow(
      expect.objectContaining({ name: new InvalidInputError('').name, message: words }),
    );
  });

  it('is refused where nothing is taken', () => {
    expect(() => checkValue(z.strictObject({}), { x: '1' })).toThrow(
      'x: unknown key; none is taken here: remove it',
    );
  });

  it('names each fault with its path', () => {
    expect(() => checkValue(schema, { limit: 0, tags: ['a', 1] })).toThrow(
      expect.objectContaining({
        details: {
          errors: [
            { path: 'limit', message: 'must be at least 1, not 0' },
            { path: 'tags[1]', message: 'must be a text, not 1; write "1"' },
          ],
        },
      }),
    );
  });
});

describe('the addresses that may be asked', () => {
  it.each([
    '127.0.0.1',
    '127.8.8.8',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '100.64.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fd00:ec2::254',
    '::ffff:127.0.0.1',
    '::ffff:a9fe:a9fe',
    '64:ff9b::a9fe:a9fe',
    '::a9fe:a9fe',
    '2002:7f00:1::',
    'localhost',
    '',
  ])('do not include %s', (address) => {
    expect(addressPolicy([])(address)).toBe(false);
  });

  it.each(['1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700:4700::1111', '::ffff:1.1.1.1'])(
    'include %s',
    (address) => {
      expect(addressPolicy([])(address)).toBe(true);
    },
  );

  it('include the allowed networks and no other', () => {
    const permits = addressPolicy(['10.0.0.0/8', '192.168.1.7', 'fd00::/8']);
    expect(['10.9.9.9', '192.168.1.7', '::ffff:10.1.1.1', 'fd12::1'].map(permits)).not.toContain(false);
    expect(['192.168.1.8', '127.0.0.1', '169.254.169.254', 'fc00::1'].map(permits)).not.toContain(true);
  });
});

describe('a URL of a link-local address', () => {
  it.each([
    'http://169.254.169.254/latest/meta-data',
    'http://2852039166',
    'http://0xa9fea9fe/',
    'http://0251.0376.0251.0376',
    'http://169.254.169.254.:80',
    'http://[::ffff:169.254.169.254]',
    'http://[::a9fe:a9fe]',
    'http://[64:ff9b::a9fe:a9fe]',
    'http://[2002:a9fe:a9fe::1]',
    'http://[fe80::1]',
    'http://[fd00:ec2::254]',
    'http://METADATA.google.internal./',
  ])('is known in the form %s', (url) => {
    expect(isLinkLocalUrl(new URL(url))).toBe(true);
  });

  it.each([
    'http://169.253.1.1',
    'http://[fd00::1]',
    'http://[::1]:4318',
    'http://127.0.0.1',
    'http://metadata',
  ])('is not %s', (url) => {
    expect(isLinkLocalUrl(new URL(url))).toBe(false);
  });
});

describe('the addresses that a configured URL may lead to', () => {
  const leads = (url: string, address: string, more: { allowed?: string[]; inside?: boolean } = {}) =>
    createAddressPolicy(new URL(url), { allowed: [], inside: false, ...more })(address);

  it.each([
    ['http://127.0.0.1:1', '127.0.0.1'],
    ['http://localhost:1', '127.0.0.1'],
    ['http://[::1]:1', '::1'],
    ['https://hooks.example', '1.1.1.1'],
  ])('by %s are %s', (url, address) => {
    expect(leads(url, address)).toBe(true);
  });

  it.each([
    ['http://10.0.0.1', '10.0.0.1'],
    ['http://hooks.example', '127.0.0.1'],
    ['http://localhost', '10.0.0.1'],
    ['http://169.254.169.254', '169.254.169.254'],
  ])('by %s are not %s', (url, address) => {
    expect(leads(url, address)).toBe(false);
  });

  it('are also inside where the receiver belongs there, but never of the link', () => {
    expect(leads('http://am.example', '10.0.0.1', { inside: true })).toBe(true);
    expect(leads('http://am.example', '169.254.169.254', { inside: true })).toBe(false);
    expect(leads('http://am.example', '169.254.1.1', { allowed: ['169.254.1.1'] })).toBe(true);
  });
});

describe('an address or a network', () => {
  it.each(['10.0.0.0/8', '127.0.0.1', '::1', 'fc00::/7', '10.0.0.1/32', '::/128'])('is %s', (text) => {
    expect(isAddressOrNetwork(text)).toBe(true);
  });

  it.each(['10.0.0.0/33', '10.0.0/8', 'hooks.example', '10.0.0.0/', '::/129', '10.0.0.0/8/8', ''])(
    'is not %s',
    (text) => {
      expect(isAddressOrNetwork(text)).toBe(false);
    },
  );
});

describe('the host of a URL', () => {
  it.each([
    ['http://127.0.0.1:80/x', '127.0.0.1'],
    ['http://2130706433/', '127.0.0.1'],
    ['http://0x7f.1/', '127.0.0.1'],
    ['http://[::1]:9/', '::1'],
    ['http://localhost/', undefined],
  ])('%s is written as the address %s', (url, address) => {
    expect(writtenAddress(new URL(url))).toBe(address);
  });
});
