import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../../../src/domain/errors.ts';
import { createRedactor } from '../../../../src/judge/redaction/redaction.ts';
import { fc } from '../../../support/fast-check.ts';

const CARD = '4111 1111 1111 1111';
const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl';
const KEY = '-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc=\n-----END RSA PRIVATE KEY-----';

describe('by default', () => {
  test.each([
    ['an e-mail address', 'write to bob@example.com.', 'write to [EMAIL_1].'],
    [
      'an e-mail address after an escape of JSON',
      String.raw`"to:\nbob@example.com"`,
      String.raw`"to:\n[EMAIL_1]"`,
    ],
    ['a card number', `card ${CARD}, please`, 'card [CREDIT_CARD_1], please'],
    ['a card number before another number', `${CARD} 0`, '[CREDIT_CARD_1] 0'],
    ['a card number after another number', `order 2345 ${CARD}`, 'order 2345 [CREDIT_CARD_1]'],
    ['a card number of 15 digits', 'amex 3782 822463 10005', 'amex [CREDIT_CARD_1]'],
    ['a card number digit by digit', '4 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1', '[CREDIT_CARD_1]'],
    ['a card number in one piece', '4111111111111111', '[CREDIT_CARD_1]'],
    ['a key of a service', 'key sk-abcdefghijklmnopqrstuv', 'key [API_KEY_1]'],
    ['an AWS key', 'AKIAIOSFODNN7EXAMPLE', '[API_KEY_1]'],
    ['a bearer token', 'Authorization: Bearer abcdefghij0123456789', 'Authorization: Bearer [API_KEY_1]'],
    ['a web token', `t=${JWT};`, 't=[JWT_1];'],
    ['a private key', `<${KEY}>`, '<[PRIVATE_KEY_1]>'],
    ['a private key in JSON text', JSON.stringify(KEY), '"[PRIVATE_KEY_1]"'],
  ])('%s is replaced', (_what, text, expected) => {
    const redactor = createRedactor();

    expect(redactor.text(text)).toBe(expected);
    expect(redactor.count).toBe(1);
  });

  test.each([
    ['a number that fails the check of cards', '4111 1111 1111 1112'],
    ['a time in milliseconds', '1763712345678'],
    ['a time in nanoseconds', '1763712345678000000'],
    ['a trace id', '4bf92f3577b34da6a3ce929d0e0e4736'],
    ['a decimal number', '0.4111111111111111'],
    ['a price', 'It costs 18.50 EUR @ noon'],
    ['a phone number, which is not asked for', '+49 30 1234567'],
  ])('%s stays', (_what, text) => {
    const redactor = createRedactor();

    expect(redactor.text(text)).toBe(text);
    expect(redactor.count).toBe(0);
  });

  test('equal values get equal placeholders and different values different ones', () => {
    const redactor = createRedactor();

    expect(redactor.text('a@x.io b@x.io a@x.io')).toBe('[EMAIL_1] [EMAIL_2] [EMAIL_1]');
    expect(redactor.text('b@x.io')).toBe('[EMAIL_2]');
    expect(redactor.count).toBe(4);
  });

  test('a placeholder that is in the text already keeps its own meaning', () => {
    const redactor = createRedactor();

    expect(redactor.text('[EMAIL_1] is not a@x.io')).toBe('[EMAIL_1] is not [EMAIL_2]');
  });

  test('redacting twice changes nothing more', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.emailAddress(), fc.constant(CARD))), (parts) => {
        const redactor = createRedactor();
        const once = redactor.text(parts.join(' '));

        expect(redactor.text(once)).toBe(once);
      }),
    );
  });
});

test('a card number is found whatever numbers stand beside it', () => {
  const beside = fc.array(fc.integer({ min: 0, max: 99_999 }), { maxLength: 4 });
  fc.assert(
    fc.property(beside, beside, (before, after) => {
      const redacted = createRedactor().text([...before, CARD, ...after].join(' '));

      expect(redacted).not.toContain(CARD);
    }),
  );
});

// Time that grows with the square of the text would be minutes here, and end in the time limit of the test.
test.each([
  'eyJ-',
  'a@',
  'sk-',
  'eyJaaaaaaaaa.',
  String.raw`\\`,
  '"ssn":"',
  '-----BEGIN PRIVATE KEY',
  '[EMAIL_1',
  'token=',
  "'password': ",
  'Cookie: a=b; ',
  'authorization: key ',
  '%40',
  'a%40b.de ',
  String.raw`\u0040`,
  'Zk3vQ9mT1x',
])('a text of half a million characters made of "%s" is read', (piece) => {
  const redactor = createRedactor({ fields: ['ssn'] });
  const text = piece.repeat(500_000 / piece.length);

  expect(redactor.text(text).length).toBeGreaterThan(0);
});

describe('fields', () => {
  const fields = ['customer.email', 'ssn'];

  test('are redacted wherever they stand in a structured value, by flat key and by path', () => {
    const redactor = createRedactor({ fields, patterns: [] });

    expect(
      redactor.run({
        'customer.email': 'bob at home',
        call: { args: { customer: { email: 'bob at work' }, SSN: 123456789, city: 'Paris' } },
      }),
    ).toEqual({
      'customer.email': '[CUSTOMER_EMAIL_1]',
      call: { args: { customer: { email: '[CUSTOMER_EMAIL_2]' }, SSN: '[SSN_1]', city: 'Paris' } },
    });
  });

  test('are redacted in JSON within strings, other numbers keeping all their digits', () => {
    const redactor = createRedactor({ fields, patterns: [] });

    expect(redactor.run({ result: '{"ssn":"078-05-1120","id":12345678901234567890}' })).toEqual({
      result: '{"ssn":"[SSN_1]","id":12345678901234567890}',
    });
  });

  test('are redacted in pieces of JSON within a prompt, at any depth of escaping', () => {
    const redactor = createRedactor({ fields, patterns: [] });
    const inner = JSON.stringify({ ssn: '078-05-1120', n: 1 });
    const prompt = `Material: ${JSON.stringify({ inner })} and {"ssn": 781051120, "cut": "off`;

    const redacted = redactor.text(prompt);

    expect(redacted).not.toContain('078-05-1120');
    expect(redacted).not.toContain('781051120');
    expect(redacted).toContain(String.raw`\"n\":1`);
  });

  test('hide their value also inside a sentence, before or after', () => {
    const redactor = createRedactor({ fields, patterns: [] });

    expect(
      redactor.run({ answer: 'Your number is 078-05-1120.', call: { args: { ssn: '078-05-1120' } } }),
    ).toEqual({ answer: 'Your number is [SSN_1].', call: { args: { ssn: '[SSN_1]' } } });
    expect(redactor.text('078-05-1120?')).toBe('[SSN_1]?');
  });

  test('leave the value that was given untouched, and dates as they are', () => {
    const redactor = createRedactor({ fields });
    const createdAt = new Date(0);
    const given = { ssn: '078-05-1120', createdAt, list: [{ text: 'a@x.io' }] };

    const copy = redactor.run(given);

    expect(given).toEqual({ ssn: '078-05-1120', createdAt, list: [{ text: 'a@x.io' }] });
    expect(copy).toEqual({ ssn: '[SSN_1]', createdAt, list: [{ text: '[EMAIL_1]' }] });
  });

  test('survive a value that holds itself', () => {
    const loop: Record<string, unknown> = { ssn: '078-05-1120' };
    loop['self'] = loop;

    const copy = createRedactor({ fields }).run(loop);

    expect(copy['ssn']).toBe('[SSN_1]');
    expect(copy['self']).toBe(copy);
  });
});

describe('patterns of the configuration', () => {
  test('are regular expressions beside known names', () => {
    const redactor = createRedactor({ patterns: ['phone', 'T-[0-9]{4}'] });

    expect(redactor.text('T-1234 by +49 30 1234567, a@x.io')).toBe('[REDACTED_1] by [PHONE_1], a@x.io');
  });

  test('find a value anywhere in a long text', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 40_000 }), (at) => {
        const text = `${'x'.repeat(at)} T-1234 ${'y'.repeat(30_000)}`;

        expect(createRedactor({ patterns: ['T-[0-9]{4}'] }).text(text)).not.toContain('T-1234');
      }),
      { numRuns: 50 },
    );
  });

  test.each([
    ['emial', 'no redaction pattern is named "emial"; known: email'],
    ['[a-', 'neither a known pattern name nor a regular expression'],
    ['(a+)+$', 'take for ever'],
    ['(a|aa)+$', 'take for ever'],
    [String.raw`(a)\1`, 'take for ever'],
    ['[0-9]*', 'matches the empty text'],
    ['x'.repeat(30) + '_'.repeat(500), 'longer than 500 characters'],
  ])('"%s" is refused with its place and a reason', (pattern, message) => {
    const make = () => createRedactor({ patterns: ['email', pattern] });

    expect(make).toThrow(ConfigError);
    expect(make).toThrow(message);
    expect(make).toThrow('redaction.patterns[1]');
  });

  test('switched off, everything stays', () => {
    const redactor = createRedactor({ enabled: false, fields: ['a'] });

    expect(redactor.text('a@x.io')).toBe('a@x.io');
    expect(redactor.run({ a: 'a@x.io' })).toEqual({ a: 'a@x.io' });
  });
});
