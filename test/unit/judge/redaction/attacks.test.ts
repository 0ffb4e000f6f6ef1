import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../../../src/judge/redaction/redaction.ts';
import { redactFields, redactText } from '../../../../src/telemetry/redact-fields.ts';

const FIXTURES = new URL('../../../fixtures/', import.meta.url);

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
