import { describe, expect, it } from 'vitest';
import { missingKeys, openJudges, uselessOptions } from '../../../src/config/checks/judge-checks.ts';
import { parseConfig } from '../../../src/configuration.ts';
import { KNOWN_SCORERS } from '../../support/builders/config-files.ts';

function warnings(
  judges: Parameters<typeof parseConfig>[0]['judges'],
  variables: Record<string, string> = {},
  scorers: string[] = ['hallucination'],
): string[] {
  const config = parseConfig({ judges, rules: [{ name: 'a', scorers }] }, { scorers: KNOWN_SCORERS });
  return missingKeys(config, KNOWN_SCORERS, variables);
}

describe('a judge that is asked without a key', () => {
  it('gives one warning with the key to set, when it is OpenAI itself', () => {
    expect(warnings({ default: 'openai/gpt-5-mini' }, {}, ['hallucination', 'faithfulness'])).toEqual([
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
    expect(warnings(judges, variables)).toEqual([]);
  });

  it('gives a warning when it is a server on the internet, which may need one', () => {
    const providers = { far: { baseURL: 'https://models.example.com/v1' } };
    expect(warnings({ default: 'far/m', providers })).toEqual([
      expect.stringMatching(/far\/m is called at models\.example\.com without a key/),
    ]);
  });

  it('is no matter where no rule asks it', () => {
    expect(warnings({ default: 'openai/gpt-5-mini' }, {}, ['keyword-coverage'])).toEqual([]);
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
    expect(openJudges(parseConfig({ judges, rules: [] }, { scorers: KNOWN_SCORERS }))).toEqual(expected);
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
    expect(uselessOptions(config)).toEqual(expected);
  });
});
