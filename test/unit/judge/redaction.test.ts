import { describe, expect, it, test } from 'vitest';
import { ConfigError } from '../../../src/domain/errors.ts';
import { createRedactor } from '../../../src/judge/redaction/redaction.ts';
import { fc } from '../../support/fast-check.ts';
import { readdirSync, readFileSync } from 'node:fs';
import { redactFields, redactText } from '../../../src/telemetry/redact-fields.ts';

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

const FIXTURES = new URL('../../fixtures/', import.meta.url);

interface Attack {
  readonly name: string;
  /** Parts of the value, written apart so that no scanner of secrets takes them for real ones. */
  readonly parts: readonly string[];
  readonly needle?: string;
}

const { values, keys } = JSON.parse(readFileSync(new URL('attacks/redaction.json', FIXTURES), 'utf8')) as {
  values: Attack[];
  keys: { object: Record<string, string> };
};

const R40 = 'Zk3vQ9mT1xLr8WbN5yHs2JdF7pCgA4eUo6KiVtXw'; // 40 letters and digits without a meaning
const HEX = '9f1c3a7b5d2e8f40619f1c3a7b5d2e8f';

/** Secrets, by what they are, and the part that must not be sent. */
const FURTHER = (
  [
    ['Hugging Face', `hf_${R40.slice(0, 34)}`],
    ['DigitalOcean', `dop_v1_${HEX}${HEX}`],
    ['Google refresh', `1//0g${R40}`],
    ['GitLab runner', `glrt-${R40.slice(0, 20)}`],
    ['Replicate', `r8_${R40}`],
    ['Perplexity', `pplx-${R40}`],
    ['LangSmith', `lsv2_pt_${HEX}`],
    ['SAS of Azure', `https://x.blob.core.windows.net/c?sv=1&sig=${R40}%2Fab%3D`, R40],
    ['Azure account', `AccountName=x;AccountKey=${R40}${R40}+/ab==;`, R40],
    ['Cohere behind its name', `COHERE_API_KEY="${R40}"`, R40],
    ['Mistral in YAML', `mistral_api_key: ${R40.slice(0, 32)}`, R40.slice(0, 32)],
    ['a password of a flag', 'psql --password hunter2-x9', 'hunter2-x9'],
    ['a password of a query', 'https://x.io/login?user=ann&password=sunshine', 'sunshine'],
    ['a password of XML', '<password>hunter2-x9</password>', 'hunter2-x9'],
    ['cookies of a header', 'Cookie: sid=abc-VALUE; theme=VALUE', 'VALUE'],
    ['a password of a sentence', 'The password is hunter2-x9.', 'hunter2-x9'],
    ['a password of a connection', 'Server=db;User=sa;Pwd=hunter2-x9;', 'hunter2-x9'],
    ['a password in .NET JSON', String.raw`{\u0022password\u0022:\u0022hunter2-x9\u0022}`, 'hunter2-x9'],
    ['a password in Python', "{'db_password': 'sunshine'}", 'sunshine'],
    ['a password of a URL', 'redis://:hunter2@cache:6379/0', 'hunter2'],
    ['a header with another scheme', `Authorization: ApiKey ${HEX}`, HEX],
    ['a header of curl', `curl -H "authorization: bearer ${HEX}"`, HEX],
    ['Basic in capitals', 'AUTHORIZATION: BASIC YWxpY2U6aHVudGVyMg==', 'YWxpY2U6aHVudGVyMg'],
    ['an OpenSSH body', `b3BlbnNzaC1rZXktdjE${R40}\n${R40}\n${R40}==`, R40],
    [
      'a PGP key',
      `-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n${R40}\n-----END PGP PRIVATE KEY BLOCK-----`,
      R40,
    ],
    ['a key without a known form', `use ${R40} for it`, R40],
    ['a lower-case key without a known form', 'k: q7x2m9v4k1z8w3t6p5r0n2j4h8g1s6d3', 'q7x2m9v4k1z8'],
    ['an escaped address', String.raw`m\u00fcller\u0040example.com`, 'ller'],
    ['an address of HTML', 'jane&#64;example.com'],
    ['an address in a URL in a URL', 'to%3Djane.doe%2540example.com', 'jane.doe'],
    ['an address in a URL', 'https://x.io/?to=jane%2Bx%40example.com&a=1', 'jane'],
    ['a key with a zero-width character', `ghp_abcdefghij\u200Bklmnopqrstuvwxyz0123456789`, 'klmnop'],
    ['a wide card number', '４１１１ １１１１ １１１１ １１１１', '１１１１'],
    ['a card number with narrow blanks', '4111\u202F1111\u202F1111\u202F1111', '1111'],
    ['a card number with long dashes', '4111–1111–1111–1111', '1111'],
    ['an American Express number with points', '3782.822463.10005', '822463'],
  ] as [name: string, text: string, needle?: string][]
).map(([name, text, needle = text]) => [name, text, needle] as const);

const ALL = [
  ...values.map(({ name, parts, needle }) => [name, parts.join(''), needle ?? parts.join('')] as const),
  ...FURTHER,
];

test.each(ALL)(
  '%s does not reach a judge, in a text, in JSON and in JSON inside JSON',
  (_name, text, needle) => {
    const said = `It says:\n${text}\tand more`;
    const nested = JSON.stringify({ result: JSON.stringify({ said, text }), said });
    for (const prompt of [text, said, nested, `Material: ${nested}`]) {
      expect(createRedactor().text(prompt)).not.toContain(needle);
    }
    // The letter of an escape is no part of a value: JSON stays JSON.
    expect(JSON.parse(createRedactor().text(`Material: ${nested}`).slice(10))).toHaveProperty('said');
    expect(JSON.stringify(createRedactor().run({ answer: `x ${text}`, args: { note: text } }))).not.toContain(
      needle,
    );
  },
);

test('values under names of secrets reach neither a judge nor a log, wherever they stand', () => {
  const object = {
    ...keys.object,
    DB_PASSWORD: 'pw-VALUE-6',
    headers: { 'Set-Cookie': ['sid=VALUE-7', 'b=VALUE-8'] },
  };
  const run = {
    call: { args: object, raw: JSON.stringify(JSON.stringify(object)) },
    answer: 'It is pw-VALUE-1.',
  };
  const prompt = `Tool: ${JSON.stringify({ result: JSON.stringify(object) })}. It is pw-VALUE-1.`;

  expect(JSON.stringify(createRedactor().run(run))).not.toContain('VALUE');
  expect(createRedactor().text(prompt)).not.toContain('VALUE');
  expect(JSON.stringify(redactFields({ object }))).not.toContain('VALUE');
  expect(createRedactor().text('{"password":"sunshine"}')).toBe('{"password":"[SECRET_1]"}');
});

/** Judges alone look for text of no known form, and see through tricks of spelling; a password of letters alone may be any word. */
const OF_JUDGES_ALONE = /without a known|zero-width|Python|address|card|American/;

test.each(FURTHER.filter(([name]) => !OF_JUDGES_ALONE.test(name)))(
  '%s does not reach a log',
  (_name, text, needle) => {
    expect(redactText(text)).not.toContain(needle);
  },
);

describe('what is no secret stays', () => {
  test.each([
    [
      'ids of tool calls',
      '{"id":"call_Zk3vQ9mT1xLr8WbN5yHs2JdF","x":"toolu_01A09q90qw90lq917835lq9T"} tooluse_kZJMlvQmRJ6eAyJE5GIl7Q',
    ],
    [
      'ids of replies',
      `chatcmpl-9fD3kXbQw7LmZ2tRcVyN5sHgJ8aPe msg_${R40.slice(0, 24)} {"response_id": "${R40}"}`,
    ],
    ['UUIDs and trace ids', '550e8400-e29b-41d4-a716-446655440000 4bf92f3577b34da6a3ce929d0e0e4736'],
    [
      'hashes of commits and files',
      'e83c5163316f89bfbde7d9ab23ca2e25604af290 sha512-Zk3vQ9mT1xLr8WbN5yHs2JdF7pCgA4eUo6KiVtXw==',
    ],
    [
      'names of code',
      'getUserAccountInformationByName2 my_very_long_snake_case_variable_name_v2 X-Amzn-Trace-Id-Of-Request',
    ],
    [
      'names of models and versions',
      'anthropic.claude-sonnet-4-20250514-v1 gpt-4o-mini-2024-07-18 us-central1-docker-pkg-dev-project1',
    ],
    ['paths and links', `/srv/${R40}/a.txt https://x.io/d/${R40}?a=1`],
    [
      'plain words about secrets',
      'Basic information: the token is required, password: none, secret santa, api key rotation, bearer of news',
    ],
    [
      'counts of tokens',
      '{"input_tokens": 1200, "token": "London", "max_token": 42, "next_page_token": "abc123"}',
    ],
    [
      'code that reads a secret',
      'token = getToken2(); password=config.password; secret=getSecret2(1); api_key=os.environ["KEY_2"]; key: ${API_KEY1}',
    ],
    ['a schema', '{"password":{"type":"string","minLength":8},"token":{"type":"string"}}'],
    ['marks of an earlier redaction', '{"password":"[SECRET_1]","token":"<redacted>","secret":"***"}'],
    [
      'versions, addresses and decimals',
      '4111.1111.11 2.15.20250101.123456 192.168.100.100 0.4111111111111111',
    ],
    ['emoji and other scripts', 'family 👨\u200D👩\u200D👧 می\u200Cخواهم 100%25'],
  ])('%s', (_name, text) => {
    expect(createRedactor().text(text)).toBe(text);
  });
});

test('no text of the recordings is taken for a secret', () => {
  const texts = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value === 'string') {
      texts.add(value);
    } else if (value !== null && typeof value === 'object') {
      Object.values(value).forEach(collect);
    }
  };
  for (const folder of ['spans', 'spans-multi', 'spans-spec', 'spans-thirdparty']) {
    const files = readdirSync(new URL(`${folder}/`, FIXTURES)).filter((name) => name.endsWith('.jsonl'));
    for (const name of files) {
      const lines = readFileSync(new URL(`${folder}/${name}`, FIXTURES), 'utf8')
        .trim()
        .split('\n');
      lines.forEach((line) => collect(JSON.parse(line)));
    }
  }
  const redactor = createRedactor();

  expect(texts.size).toBeGreaterThan(5_000);
  expect([...texts].filter((text) => redactor.text(text) !== text)).toEqual([]);
});

/** Texts with secrets, and each as judges read it. A change of `judge` changes scores: it needs a new fingerprint. */
const TEXTS = JSON.parse(readFileSync(new URL('redaction/secrets.json', FIXTURES), 'utf8')) as {
  text: string;
  judge: string;
}[];

describe.each(TEXTS)('the text $text', ({ text, judge }) => {
  it('is redacted for judges as it always was', () => {
    expect(createRedactor().text(text)).toBe(judge);
  });

  it('keeps no secret in a log that it loses before a judge', () => {
    const logged = redactText(text);

    expect(createRedactor({ patterns: ['api-key', 'jwt', 'private-key'] }).text(logged)).toBe(logged);
  });
});
