import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ConfigInput, loadConfig, parseConfig } from '../../../src/configuration.ts';
import { folderWith, KNOWN_SCORERS } from '../../support/builders/config-files.ts';
import { reportedIssues } from '../../../src/config/faults/config-issue.ts';
import { readdirSync, readFileSync } from 'node:fs';
import { ConfigError } from '../../../src/domain/errors.ts';
import { RECEIVERS } from '../../../src/components.ts';
import { listOpenDoors } from '../../../src/config/load-config.ts';
import { judgeWarnings } from '../../../src/config/checks/judge-checks.ts';

const GOOD = new URL('../../fixtures/configs/good/full.yaml', import.meta.url).pathname;

async function load(files: Record<string, string>, options: Parameters<typeof loadConfig>[0] = {}) {
  return loadConfig({ cwd: folderWith(files), variables: {}, scorers: KNOWN_SCORERS, ...options });
}

describe('a scorer with reason: on-demand', () => {
  const scorerOf = async (entry: string) =>
    (await load({ 'spanscore.config.yaml': `scorers: { mine: ${entry} }\nrules: []\n` })).config.scorers[
      'mine'
    ];

  it('words no reasons with its score', async () => {
    expect(await scorerOf('{ use: grounding, reason: on-demand }')).toEqual({
      use: 'grounding',
      options: { reason: false },
    });
  });

  it.each([
    '{ module: ./x.ts, reason: on-demand }',
    '{ ask: Is it kind?, reason: on-demand }',
    '{ use: grounding, options: { reason: template }, reason: on-demand }',
  ])('is refused where its reasons are chosen otherwise: %s', async (entry) => {
    await expect(scorerOf(entry)).rejects.toThrow(/in place of its option reason/u);
  });
});

describe('loadConfig without a file', () => {
  it('scores every trace with the code scorers that exist, and asks no judge', async () => {
    const { config, file, notes } = await load({});

    expect(file).toBeUndefined();
    expect(config.rules).toEqual([
      {
        name: 'default',
        scorers: ['behaviour'],
        target: 'trace',
        sample: { rate: 1, always: [] },
      },
    ]);
    expect(notes).toEqual([expect.stringContaining('SPANSCORE_JUDGE=openai/gpt-5-mini')]);
  });

  it('watches what each agent does, under one allowance of false alarms, unless the file has monitors', async () => {
    const { config } = await load({});
    const [entry] = config.monitors;
    const groups = typeof entry === 'object' ? entry.groups : [];
    expect(groups.map(({ name, falseAlarmBudget, rules }) => [name, falseAlarmBudget, rules.length])).toEqual(
      [['behaviour', 1, 6]],
    );
    expect(groups[0]?.rules.map(({ detector, series }) => [detector, series])).toEqual(
      ['cost', 'duration', 'tool-errors', 'repeats', 'answered', 'path'].map((measure) => [
        'drift',
        { scorer: `behaviour-${measure}` },
      ]),
    );
    const none = await load({ 'spanscore.config.yaml': 'monitors: []\n' });
    expect(none.config.monitors).toEqual([]);
  });

  it('adds the judged scorers under a daily budget, and reports it, when SPANSCORE_JUDGE names a judge', async () => {
    const { config, notes } = await load({}, { variables: { SPANSCORE_JUDGE: 'openai/gpt-5-mini' } });

    expect(config.judges.default).toBe('openai/gpt-5-mini');
    expect(config.rules[0]?.scorers).toEqual(['behaviour', 'grounding']);
    expect(config.rules[0]?.budget).toEqual({ perDay: 1 });
    expect(notes[0]).toMatch(/openai\/gpt-5-mini.*1 USD a day/);
  });

  it('runs an unpriced judge of SPANSCORE_JUDGE without a budget, and says so with the line that sets a price', async () => {
    const { config, notes } = await load(
      {
        'spanscore.config.yaml': 'judges: { providers: { local: { baseURL: "http://127.0.0.1:11434/v1" } } }',
      },
      { variables: { SPANSCORE_JUDGE: 'local/qwen3' } },
    );

    expect(config.rules[0]?.scorers).toContain('grounding');
    expect(config.rules[0]?.budget).toBeUndefined();
    expect(notes[0]).toMatch(
      /local\/qwen3 without a budget.*prices: \{ local\/qwen3: \{ input: 0\.25, output: 2 \} \}/,
    );
  });

  it('keeps the budget of a judge whose price is configured, be it 0', async () => {
    const judges =
      'judges: { providers: { local: { baseURL: "http://127.0.0.1:11434/v1" } }, prices: { local/qwen3: { input: 0, output: 0 } } }';

    const { config } = await load(
      { 'spanscore.config.yaml': judges },
      { variables: { SPANSCORE_JUDGE: 'local/qwen3' } },
    );

    expect(config.rules[0]?.budget).toEqual({ perDay: 1 });
  });

  it('never takes an OpenAI key in the environment for a wish to be judged', async () => {
    const { config } = await load({}, { variables: { OPENAI_API_KEY: 'sk-x' } });

    expect(config.judges.default).toBeUndefined();
    expect(config.rules[0]?.scorers).not.toContain('grounding');
  });
});

describe('loadConfig with a file', () => {
  it('reads every key of this version', async () => {
    const variables = { TEAM_A_TOKEN: 'a-token-of-16-chars', OPENAI_API_KEY: 'k', CONCURRENCY: '8' };

    const { config, file } = await loadConfig({ path: GOOD, variables, scorers: KNOWN_SCORERS });

    expect(file).toBe(GOOD);
    expect(config.store.dataDir).toBe(join(GOOD, '../data'));
    expect(config.scorers['tone-of-voice']?.module).toBe(join(GOOD, '../scorers/tone-of-voice.ts'));
    expect(config.judges.providers['openai']).toMatchObject({ apiKey: 'k', concurrency: 8 });
    expect(config.rules[0]?.where).toEqual({
      service: ['weather'],
      environment: ['production'],
      attributes: { 'customer.tier': ['gold'], seats: ['1', '2'] },
      model: ['gpt-5-mini'],
      status: 'error',
      duration: { min: '2s', max: '15m' },
      tokens: { min: 1_000 },
      not: { service: ['canary'], duration: { max: '100ms' } },
    });
    expect(config.exporters.webhook?.secret).toBe('none');
  });

  it('means no rules when rules are empty', async () => {
    const { config, notes } = await load({ 'spanscore.config.yaml': 'rules: []' });

    expect(config.rules).toEqual([]);
    expect(notes).toEqual([]);
  });

  it.each([
    ['spanscore.config.yaml', 'store: { database: found }'],
    ['spanscore.config.yml', 'store: { database: found }'],
    ['spanscore.config.json', '{"store":{"database":"found"}}'],
    ['spanscore.config.js', 'export default { store: { database: "found" } };'],
    ['spanscore.config.mjs', 'export default { store: { database: "found" } };'],
    ['spanscore.config.ts', 'const name: string = "found"; export default { store: { database: name } };'],
  ])('finds %s', async (name, text) => {
    const { config, file } = await load({ [name]: text });

    expect(config.store.database).toBe('found');
    expect(file?.endsWith(name)).toBe(true);
  });

  it('refuses two files at once', async () => {
    const both = load({ 'spanscore.config.yaml': '', 'spanscore.config.json': '{}' });

    await expect(both).rejects.toThrow(/spanscore\.config\.yaml and spanscore\.config\.json: keep one/);
  });

  it('takes an empty file for no settings', async () => {
    const { config } = await load({ 'spanscore.config.yaml': '# nothing yet\n' });

    expect(config.rules[0]?.name).toBe('default');
  });

  it.each([
    ['spanscore.config.ts', 'export const config = {};', /default export/],
    [
      'spanscore.config.ts',
      'throw new Error("no luck");',
      /spanscore\.config\.ts:1 cannot be loaded: no luck/,
    ],
  ])('says what is wrong with a module: %s %s', async (name, text, message) => {
    await expect(load({ [name]: text })).rejects.toThrow(message);
  });

  it('says which file is missing', async () => {
    await expect(load({}, { path: 'nowhere.yaml' })).rejects.toThrow(/nowhere\.yaml cannot be read: ENOENT/);
  });

  it('lists every fault, not only the first', async () => {
    const faulty = load({ 'spanscore.config.yaml': 'storr: {}\napi: { endpoint: x }\n' });

    await expect(faulty).rejects.toThrow(/it has 2 faults[\s\S]*:1:1: storr[\s\S]*:2:8: api\.endpoint/);
  });
});

describe('precedence', () => {
  const file = {
    'spanscore.config.yaml': 'store: { database: from_file, username: from_file }\nlog: { level: warn }',
  };

  it('is defaults, then the file, then variables, then flags', async () => {
    const { config, findOrigin: originOf } = await load(file, {
      variables: { SPANSCORE_STORE_DATABASE: 'from_variable', SPANSCORE_STORE_USERNAME: 'from_variable' },
      flags: { 'store.username': 'from_flag' },
    });

    expect(config.store).toMatchObject({ database: 'from_variable', username: 'from_flag', password: '' });
    expect(config.log.level).toBe('warn');
    expect(originOf(['store', 'username'])).toEqual({ kind: 'flag', where: '--set store.username' });
    expect(originOf(['store', 'database'])).toEqual({
      kind: 'environment',
      where: 'SPANSCORE_STORE_DATABASE',
    });
    expect(originOf(['log', 'level'])).toMatchObject({ kind: 'file', where: 'spanscore.config.yaml:2' });
    expect(originOf(['store', 'password'])).toEqual({ kind: 'default', where: '' });
  });

  it('reads paths in a file from that file, and those of variables from the working directory', async () => {
    const folder = folderWith({ 'other.yaml': 'store: { dataDir: ./data }' });

    const fromFile = await loadConfig({ cwd: '/', path: join(folder, 'other.yaml'), variables: {} });
    const fromVariable = await loadConfig({
      cwd: '/somewhere',
      path: join(folder, 'other.yaml'),
      variables: { SPANSCORE_STORE_DATA_DIR: 'data' },
    });

    expect(fromFile.config.store.dataDir).toBe(join(folder, 'data'));
    expect(fromVariable.config.store.dataDir).toBe('/somewhere/data');
  });

  it('takes the file that SPANSCORE_CONFIG names', async () => {
    const { config } = await load(
      { 'x.yaml': 'store: { database: named }', 'spanscore.config.yaml': 'store: { database: found }' },
      { variables: { SPANSCORE_CONFIG: 'x.yaml' } },
    );

    expect(config.store.database).toBe('named');
  });

  it('warns of a variable that sets nothing', async () => {
    const { warnings } = await load({}, { variables: { SPANSCORE_STOR_URL: 'http://x' } });

    expect(warnings).toEqual(['SPANSCORE_STOR_URL sets nothing; did you mean SPANSCORE_STORE_URL?']);
  });

  it('refuses a flag that sets nothing', async () => {
    await expect(load({}, { flags: { 'store.databse': 'x' } })).rejects.toThrow(
      /did you mean store\.database\?/,
    );
  });

  it('names the variable that holds a bad value', async () => {
    const faulty = load({}, { variables: { SPANSCORE_API_ENDPOINT: 'nonsense' } });

    await expect(faulty).rejects.toThrow(/^SPANSCORE_API_ENDPOINT: api\.endpoint: write host:port/);
  });
});

describe('references to variables', () => {
  it('reads numbers and booleans from texts, and leaves a password of digits a text', async () => {
    const { config } = await load(
      {
        'spanscore.config.yaml':
          'store: { password: ${env:PW} }\nredaction: { enabled: ${env:ON} }\nrules: [{ name: a, scorers: [keyword-coverage], sample: { rate: ${env:RATE:-0.5} } }]',
      },
      { variables: { PW: '12345', ON: 'false' } },
    );

    expect(config.store.password).toBe('12345');
    expect(config.redaction.enabled).toBe(false);
    expect(config.rules[0]?.sample.rate).toBe(0.5);
  });

  it('cannot be used to write keys: a value stays one text', async () => {
    const { config } = await load(
      { 'spanscore.config.yaml': 'store: { username: "a-${env:U}", password: ${env:P} }' },
      { variables: { U: 'x\napi: { endpoint: evil }', P: '${env:U}' } },
    );

    expect(config.store.username).toBe('a-x\napi: { endpoint: evil }');
    expect(config.store.password).toBe('${env:U}');
  });

  it('needs no variable that is in a comment', async () => {
    const { config } = await load({ 'spanscore.config.yaml': '# ${env:NOBODY}\nstore: { database: x }' });

    expect(config.store.database).toBe('x');
  });

  it('takes the default also when the variable is empty', async () => {
    const { config } = await load(
      { 'spanscore.config.yaml': 'store: { username: ${env:U:-reader} }' },
      { variables: { U: '' } },
    );

    expect(config.store.username).toBe('reader');
  });

  it('reads a secret from a file without the last line end', async () => {
    const folder = folderWith({ pw: ' 12345#:\n' });
    const { config } = await load({
      'spanscore.config.yaml': `store: { username: reader, password: \${file:${folder}/pw} }`,
    });

    expect(config.store.password).toBe(' 12345#:');
  });

  it.each([
    ['${file:/nowhere/pw}', /store\.password: the file \/nowhere\/pw cannot be read: ENOENT.*; create it/],
    ['${file:pw}', /store\.password: \$\{file:pw\} names no file: write the whole path/],
    ['${file:/dev/null}', /store\.password: the file \/dev\/null is empty/],
  ])('names the key and the file of %s, which cannot be used', async (reference, message) => {
    const faulty = load({ 'spanscore.config.yaml': `store: { password: ${reference} }` });

    await expect(faulty).rejects.toThrow(message);
  });
});

describe('parseConfig', () => {
  it('gives a value its defaults and leaves a parsed one as it is', () => {
    const once = parseConfig(
      { rules: [{ name: 'a', scorers: ['keyword-coverage'], where: { service: 'x' } }] },
      { cwd: '/w' },
    );

    expect(once.store.dataDir).toBe('/w/.spanscore');
    expect(parseConfig(once, { cwd: '/elsewhere' })).toEqual(once);
  });

  it('refuses a wrong value by its path', () => {
    expect(() => parseConfig({ api: { endpoint: 'x' } })).toThrow(/^api\.endpoint: write host:port/);
  });
});

/** The faults of a configuration file, as `line:column path: message`. */
async function listFaults(text: string, name = 'spanscore.config.yaml'): Promise<string[]> {
  const cwd = folderWith({ [name]: text });
  const error = await loadConfig({ cwd, variables: {}, scorers: KNOWN_SCORERS }).catch(
    (cause: unknown) => cause,
  );
  return reportedIssues(error).map(
    ({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`,
  );
}

describe('a configuration with several faults', () => {
  it('is refused with all of them: keys, values, references, and faults between keys', async () => {
    const faults = await listFaults(`retention: { spans: 7d }
store: { password: "\${env:NOT_SET}", retention: { spans: 60d, scores: 30d } }
readiness: { decisionWait: 5 s }
judges: { default: openai/gpt-5-mini }
scorers:
  mine: { module: ./nowhere.ts }
rules:
  - { name: a, scorers: [halucination], sample: { rate: 2 } }
  - { name: 5, scorers: [faithfullness] }
  - { scorers: [groundin] }
api: { endpoint: "0.0.0.0:4320" }
`);

    expect(faults).toEqual([
      '1:1 retention: unknown key here; did you mean store.retention?',
      expect.stringContaining('2:10 store.password: environment variable NOT_SET is not set'),
      expect.stringContaining('3:14 readiness.decisionWait: write 5s'),
      expect.stringContaining('6:11 scorers.mine.module: there is no file'),
      '8:26 rules[0].scorers[0]: there is no scorer halucination; did you mean hallucination?',
      '8:51 rules[0].sample.rate: must be between 0 and 1',
      '9:7 rules[1].name: must be a text, not 5; write "5"',
      '9:26 rules[1].scorers[0]: there is no scorer faithfullness; did you mean faithfulness?',
      '10:5 rules[2].name: missing; give a text, like production',
      '10:17 rules[2].scorers[0]: there is no scorer groundin; did you mean grounding?',
      expect.stringContaining('11:8 api.endpoint: other machines can reach 0.0.0.0'),
    ]);
  });

  it.each([
    [
      'a misspelt key that is wanted',
      'rules: [{ nmae: a, scorers: [keyword-coverage] }]',
      ['did you mean name?'],
    ],
    [
      'a judge of the wrong form',
      'judges: { default: gpt }\nrules: [{ name: a, scorers: [hallucination] }]',
      ['provider/model'],
    ],
    [
      'a judge from a variable',
      'judges: { default: "${env:NO}" }\nrules: [{ name: a, scorers: [hallucination] }]',
      ['NO is not set'],
    ],
    [
      'a scorer that a rule names',
      'scorers: { mine: 5 }\nrules: [{ name: a, scorers: [mine] }]',
      ['scorers.mine: must be a group'],
    ],
    [
      'the key that holds the scorers',
      'scorer: { mine: { use: hallucination } }\nrules: [{ name: a, scorers: [mine] }]',
      ['did you mean scorers?'],
    ],
    [
      'a token of the wrong form',
      'auth: { tokens: [{ name: a, token: x }] }\napi: { endpoint: "0.0.0.0:1" }',
      ['at least 16 characters'],
    ],
    [
      'tokens of which this process gets none',
      'auth: { tokens: [{ name: a, token: "${env:NO_TOKEN:-}" }] }\napi: { endpoint: "0.0.0.0:1" }',
      ['auth.tokens: no entry has a token here'],
    ],
    ['a retention of the wrong form', 'store: { retention: { spans: 500d, scores: 400 } }', ['needs a unit']],
    ['what use or module would be', 'scorers: { mine: { modul: ./x.ts } }', ['did you mean module?']],
  ])('concludes nothing from a faulty value: %s', async (_, text, expected) => {
    const faults = await listFaults(text);

    expect(faults).toEqual(expected.map((part) => expect.stringContaining(part)));
  });

  it('tells every fault of the syntax, and those before it that are sure', async () => {
    const faults = await listFaults(`storr: {}
api: { endpoint: 4320 }
api: {}
rules:
  - scorers: [keyword-coverage
log: { level: loud }
`);

    expect(faults[0]).toBe('1:1 storr: unknown key; did you mean store?');
    expect(faults).toContain('3:1 : api is written twice in its group; join the two, or remove one');
    expect(faults.join('\n')).not.toMatch(/name: missing|log\.level/);
  });

  it('names the paths of a module, without lines', async () => {
    const faults = await listFaults(
      `const wait: string = '5 s';
const rules = [{ name: 'a', scorers: ['halucination'] }];
export default {
  readiness: { decisionWait: wait },
  'retention': {},
  rules,
  log: { level: ['lo', 'ud'].join('') },
} satisfies object;
`,
      'spanscore.config.ts',
    );

    expect(faults).toEqual([
      expect.stringContaining('null:null readiness.decisionWait: write 5s'),
      expect.stringContaining('null:null log.level: must be debug or info'),
      'null:null retention: unknown key here; did you mean store.retention?',
      'null:null rules[0].scorers[0]: there is no scorer halucination; did you mean hallucination?',
    ]);
  });

  it('names them all for a configuration that is a value', () => {
    const parse = () =>
      parseConfig(
        { readiness: { decisionWait: '5 s' }, rules: [{ name: 'a', scorers: ['x'] }] },
        { scorers: KNOWN_SCORERS },
      );

    expect(parse).toThrow(/it has 2 faults[\s\S]*write 5s[\s\S]*there is no scorer x/);
  });

  it('keeps the column behind a reference, and the text of a reference in a key', async () => {
    const faults = await listFaults('store: { username: ${env:U:-a}, databas: x, "${env:U}": 1 }');

    expect(faults).toEqual([
      '1:33 store.databas: unknown key; did you mean database?',
      expect.stringContaining('1:45 store["${env:U}"]: unknown key'),
    ]);
  });
});

const FOLDER = new URL('../../fixtures/configs/bad/', import.meta.url);

describe('a configuration that cannot be used is refused with place, path and advice', () => {
  it.each(readdirSync(FOLDER))('%s', async (name) => {
    const path = new URL(name, FOLDER).pathname;
    const expected = /^# expect: (.+)$/m.exec(readFileSync(path, 'utf8'))?.[1];

    const refusal = await loadConfig({ path, variables: {}, scorers: KNOWN_SCORERS }).catch(
      (error: unknown) => error,
    );

    expect(expected).toBeDefined();
    expect(refusal).toBeInstanceOf(ConfigError);
    expect((refusal as ConfigError).message).toContain(expected);
  });
});

const TOKENS = [{ name: 'a', token: 'a-token-of-16-characters' }];

function doors(config: ConfigInput): string[] {
  return listOpenDoors(parseConfig({ ...config, rules: [] }), RECEIVERS);
}

function receiving(endpoint: string, tls = false): ConfigInput['receivers'] {
  const files = { cert: 'c.pem', key: 'k.pem' };
  return { otlp: { http: { endpoint, ...(tls ? { tls: files } : {}) } } };
}

describe('open endpoints', () => {
  it('are none as long as everything listens on loopback', () => {
    expect(doors({})).toEqual([]);
    expect(doors({ receivers: receiving('[::1]:4318'), auth: { tokens: TOKENS } })).toEqual([]);
  });

  it('give a warning when other machines may send without a token', () => {
    expect(doors({ receivers: receiving('0.0.0.0:4318') })).toEqual([
      'receivers.otlp.http.endpoint: everyone who can reach 0.0.0.0:4318 may send spans: set auth.tokens',
    ]);
  });

  it('are not opened by an entry without a token, which no process compares with', () => {
    const others = [{ name: 'b', token: '' }, ...TOKENS, { name: 'c', token: '' }];

    expect(parseConfig({ auth: { tokens: others } }).auth.tokens).toMatchObject(TOKENS);
    expect(() => parseConfig({ auth: { tokens: others.slice(0, 1) } })).toThrow('no entry has a token here');
  });

  it('give a warning when tokens are sent without TLS', () => {
    const auth = { tokens: TOKENS };
    expect(doors({ receivers: receiving('0.0.0.0:4318'), auth })[0]).toContain('set receivers.otlp.http.tls');
    expect(doors({ receivers: receiving('0.0.0.0:4318', true), auth })).toEqual([]);
    expect(doors({ api: { endpoint: '0.0.0.0:4320' }, auth })[0]).toContain('set api.tls');
  });

  it('give warnings when a configuration is loaded', async () => {
    const variables = { SPANSCORE_RECEIVERS_OTLP_GRPC_ENDPOINT: '0.0.0.0:4317' };
    const { warnings } = await loadConfig({ variables, cwd: '/' });
    expect(warnings).toEqual([expect.stringContaining('everyone who can reach 0.0.0.0:4317')]);
  });
});

function warningsOf(
  judges: Parameters<typeof parseConfig>[0]['judges'],
  variables: Record<string, string> = {},
  scorers: string[] = ['hallucination'],
): string[] {
  const config = parseConfig({ judges, rules: [{ name: 'a', scorers }] }, { scorers: KNOWN_SCORERS });
  return judgeWarnings(config, KNOWN_SCORERS, variables);
}

describe('a judge that is asked without a key', () => {
  it('gives one warning with the key to set, when it is OpenAI itself', () => {
    expect(warningsOf({ default: 'openai/gpt-5-mini' }, {}, ['hallucination', 'faithfulness'])).toEqual([
      expect.stringMatching(
        /openai\/gpt-5-mini has no key.*OPENAI_API_KEY.*judges\.providers\.openai\.apiKey/,
      ),
    ]);
  });

  it.each([
    ['a key in the environment', { default: 'openai/gpt-5-mini' }, { OPENAI_API_KEY: 'sk-x' }],
    [
      'a key in the configuration',
      { default: 'openai/gpt-5-mini', providers: { openai: { apiKey: 'sk-x' } } },
      {},
    ],
    [
      'a model on this machine',
      { default: 'local/m', providers: { local: { baseURL: 'http://127.0.0.1:11434/v1' } } },
      {},
    ],
    [
      'a model in the own network',
      { default: 'local/m', providers: { local: { baseURL: 'http://10.1.2.3/v1' } } },
      {},
    ],
    [
      'a model on another container',
      { default: 'local/m', providers: { local: { baseURL: 'http://ollama:11434/v1' } } },
      {},
    ],
  ])('is fine with %s', (_what, judges, variables) => {
    expect(warningsOf(judges, variables)).toEqual([]);
  });

  it('gives a warning when it is a server on the internet, which may need one', () => {
    const providers = { far: { baseURL: 'https://models.example.com/v1' } };
    expect(warningsOf({ default: 'far/m', providers })).toEqual([
      expect.stringMatching(/far\/m is called at models\.example\.com without a key/),
    ]);
  });

  it('is no matter where no rule asks it', () => {
    expect(warningsOf({ default: 'openai/gpt-5-mini' }, {}, ['keyword-coverage'])).toEqual([]);
  });
});

describe('the provider of a judge', () => {
  it('gives a warning with the line to run when its package is missing, and loads none', () => {
    const providers = { mine: { package: '@acme/no-such-provider' } };
    expect(warningsOf({ default: 'mine/m', providers })).toEqual([
      'judge provider mine needs the package @acme/no-such-provider: npm install @acme/no-such-provider',
    ]);
  });

  it('needs no entry when its name is a kind', () => {
    expect(warningsOf({ default: 'anthropic/claude-haiku-4-5' }, { ANTHROPIC_API_KEY: 'k' })).toEqual([]);
  });

  it.each([
    [{ work: { use: 'antropic' } }, /judges\.providers\.work\.use: .*did you mean anthropic/],
    [{ work: { use: 'openai-compatible' } }, /judges\.providers\.work: needs a baseURL/],
    [
      { groq: { baseUrl: 'http://127.0.0.1:1/v1' } },
      /judges\.providers\.groq\.baseUrl: .*did you mean baseURL/,
    ],
  ])('is refused for %j', (providers, message) => {
    expect(() => warningsOf({ providers })).toThrow(message);
  });
});

describe('a judge that is asked without TLS', () => {
  it.each([
    [
      'http://api.example.com/v1',
      [
        'judges.providers.p.baseURL: its key and conversations travel to api.example.com in clear text: use https',
      ],
    ],
    ['http://8.8.8.8:8000/v1', [expect.stringContaining('8.8.8.8:8000')]],
    ['https://api.example.com/v1', []],
    ['http://localhost:11434/v1', []],
    ['http://10.1.2.3/v1', []],
    ['http://ollama:11434/v1', []],
  ])('at %s gives these warnings: %j', (baseURL, expected) => {
    const judges = { default: 'p/m', providers: { p: { baseURL, apiKey: 'a-key' } } };
    const config = parseConfig({ judges, rules: [] }, { scorers: KNOWN_SCORERS });
    expect(judgeWarnings(config, KNOWN_SCORERS, {})).toEqual(expected);
  });
});

describe('options of a judge', () => {
  const judges = { default: 'openai/gpt-5-mini', options: { 'openai/gpt-5-mni': { timeout: '5m' } } };

  it.each([
    [
      'no scorer',
      judges,
      {},
      [expect.stringMatching(/judges\.options\[.openai\/gpt-5-mni.\].*gpt-5-mini\?$/)],
    ],
    ['the default judge', { ...judges, default: 'openai/gpt-5-mni' }, {}, []],
    ['one scorer', judges, { own: { use: 'grounding', judge: 'openai/gpt-5-mni' } }, []],
    ['perhaps the file of a module', judges, { own: { module: import.meta.filename } }, []],
  ])('are reported as useless only when nothing names the judge: %s', (_who, named, scorers, expected) => {
    const config = parseConfig({ judges: named, scorers, rules: [] }, { scorers: KNOWN_SCORERS });
    expect(judgeWarnings(config, KNOWN_SCORERS, {})).toEqual(expected);
  });
});
