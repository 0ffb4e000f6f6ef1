import { describe, expect, it } from 'vitest';
import { compareConfigs, RELOADED_KEYS } from '../../../src/config/revision.ts';
import { configJsonSchema, parseConfig, type ConfigInput } from '../../../src/configuration.ts';

const BASE: ConfigInput = {
  rules: [
    { name: 'production', scorers: ['keyword-coverage'] },
    { name: 'nightly', scorers: ['tone'] },
  ],
  auth: { tokens: [{ name: 'me', token: 'x'.repeat(16) }] },
  scorers: { mine: { module: import.meta.filename } },
  judges: { default: 'openai/gpt-5-mini' },
};

const parts = (input: ConfigInput, modules = { mine: 'a' }) => ({
  config: parseConfig(input),
  groups: [],
  modules,
});

describe('the table of keys', () => {
  it('says of every key of the configuration whether a reload applies it', () => {
    const keys = Object.keys(configJsonSchema().properties ?? {}).filter((key) => key !== '$schema');
    expect(Object.keys(RELOADED_KEYS).toSorted()).toEqual(keys.toSorted());
  });
});

describe('a comparison of configurations', () => {
  it.each<[string, ConfigInput, string[], string[]]>([
    ['finds nothing in an equal one', BASE, [], []],
    [
      'names a changed, a new and a removed rule',
      {
        ...BASE,
        rules: [
          { name: 'production', scorers: ['tone'] },
          { name: 'new', scorers: ['tone'] },
        ],
      },
      ['rules.production', 'rules.nightly', 'rules.new'],
      [],
    ],
    ['names the order of rules as the list', { ...BASE, rules: BASE.rules?.toReversed() }, ['rules'], []],
    [
      'names judges and tokens by their section',
      { ...BASE, judges: { ...BASE.judges, prices: { 'a/b': { input: 1, output: 1 } } }, auth: {} },
      ['auth.tokens', 'judges.prices'],
      [],
    ],
    [
      'names what needs a restart by its whole path',
      {
        ...BASE,
        receivers: { otlp: { http: { endpoint: '127.0.0.1:9' } } },
        api: { hosts: ['a', 'b'] },
        log: { level: 'debug' },
        scoring: { newestShare: 1 },
      },
      [],
      ['receivers.otlp.http.endpoint', 'scoring.newestShare', 'api.hosts', 'log.level'],
    ],
  ])('%s', (_, after, changed, needsRestart) => {
    expect(compareConfigs(parts(BASE), parts(after))).toEqual({ changed, needsRestart });
  });

  it('names a scorer whose module has another text', () => {
    const { changed } = compareConfigs(parts(BASE), parts(BASE, { mine: 'b' }));
    expect(changed).toEqual(['scorers.mine']);
  });
});
