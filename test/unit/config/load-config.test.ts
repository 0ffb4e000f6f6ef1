import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig, parseConfig } from '../../../src/configuration.ts';
import { folderWith, KNOWN_SCORERS } from '../../support/builders/config-files.ts';

const GOOD = new URL('../../fixtures/configs/good/full.yaml', import.meta.url).pathname;

async function load(files: Record<string, string>, options: Parameters<typeof loadConfig>[0] = {}) {
  return loadConfig({ cwd: folderWith(files), variables: {}, scorers: KNOWN_SCORERS, ...options });
}

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
