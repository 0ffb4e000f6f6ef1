import { describe, expect, it } from 'vitest';
import { reportedIssues } from '../../../src/config/faults/config-issue.ts';
import { loadConfig, parseConfig } from '../../../src/configuration.ts';
import { folderWith, KNOWN_SCORERS } from '../../support/builders/config-files.ts';

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
