import { describe, expect, it } from 'vitest';
import { changeConfigText, formatDiff, type AskedChange } from '../../../src/config/files/change-file.ts';
import { configJsonSchema } from '../../../src/configuration.ts';

const TEXT = `# The judge of the team.
judges:
  default: openai/gpt-5-mini # cheap
  prices:
    'openai/gpt-4.1': { input: 2, output: 8 }
rules:
  # Traffic of customers.
  - name: production
    scorers: [keyword-coverage, tone] # two
    sample:
      rate: 0.1   # a tenth

  - name: nightly
    scorers:
      - completeness
scorers:
  tone:
    module: ./tone.ts
  strict:
    use: hallucination
monitors:
  - ./monitors/*.yaml
  - groups:
      - name: quality
        rules:
          - alert: Dropped
            detector: floor
            series: { scorer: tone }
            minimum: 0.5
budgets:
`;

function change(...asked: AskedChange[]) {
  return changeConfigText(TEXT, asked, { schema: configJsonSchema(), isJson: false });
}

/** Lines that differ, as in a diff without its context. */
function diffLines(text: string): string[] {
  return formatDiff('f', TEXT, text)
    .split('\n')
    .slice(2)
    .filter((line) => /^[-+]/u.test(line));
}

describe('a change of a configuration file', () => {
  it.each<[string, AskedChange, string[]]>([
    [
      'replaces a value and keeps its comment',
      { path: 'rules.production.sample.rate', value: 0.5 },
      ['-      rate: 0.1   # a tenth', '+      rate: 0.5   # a tenth'],
    ],
    [
      'adds a key to a map of lines',
      { path: 'rules.production.sample.always', value: ['error'] },
      ['+      always:', '+        - error'],
    ],
    [
      'adds nested keys to an entry of a list',
      { path: 'rules.nightly.budget.perDay', value: 2 },
      ['+    budget:', '+      perDay: 2'],
    ],
    [
      'replaces a list on one line by one on one line',
      { path: 'rules.production.scorers', value: ['tone'] },
      ['-    scorers: [keyword-coverage, tone] # two', '+    scorers: [ tone ] # two'],
    ],
    [
      'replaces a list of lines by one of lines',
      { path: 'rules.nightly.scorers', value: ['completeness', 'tone'] },
      ['+      - tone'],
    ],
    [
      'finds a name with points, in braces',
      { path: 'judges.prices.openai/gpt-4.1.output', value: 9 },
      ["-    'openai/gpt-4.1': { input: 2, output: 8 }", "+    'openai/gpt-4.1': { input: 2, output: 9 }"],
    ],
    [
      'adds a name with points',
      { path: 'judges.prices.openai/gpt-4.2.input', value: 1 },
      ['+    openai/gpt-4.2:', '+      input: 1'],
    ],
    [
      'adds a key in braces',
      { path: 'judges.prices.openai/gpt-4.1.cachedInput', value: 1 },
      [
        "-    'openai/gpt-4.1': { input: 2, output: 8 }",
        "+    'openai/gpt-4.1': { input: 2, output: 8, cachedInput: 1 }",
      ],
    ],
    [
      'fills a key without a value',
      { path: 'budgets.total.perDay', value: 5 },
      ['-budgets:', '+budgets: { total: { perDay: 5 } }'],
    ],
    [
      'adds a rule by its name',
      { path: 'rules.extra', value: { scorers: ['tone'] } },
      ['+  - name: extra', '+    scorers:', '+      - tone'],
    ],
    [
      'removes a rule',
      { path: 'rules.nightly', value: null },
      ['-  - name: nightly', '-    scorers:', '-      - completeness'],
    ],
    [
      'removes a key, and the map that is empty then',
      { path: 'rules.production.sample.rate', value: null },
      ['-    sample:', '-      rate: 0.1   # a tenth'],
    ],
    [
      'finds a monitor by its group and its alert',
      { path: 'monitors.quality.rules.Dropped.minimum', value: 0.4 },
      ['-            minimum: 0.5', '+            minimum: 0.4'],
    ],
    [
      'finds a monitor by its alert',
      { path: 'monitors.Dropped.paused', value: true },
      ['+            paused: true'],
    ],
    [
      'merges a map key by key',
      { path: 'rules.production.sample', value: { rate: 0.1, always: ['error'] } },
      ['+      always:', '+        - error'],
    ],
    ['adds a section', { path: 'redaction.enabled', value: false }, ['+redaction:', '+  enabled: false']],
  ])('%s', (_, asked, expected) => {
    expect(diffLines(change(asked).text)).toEqual(expected);
  });

  it('of several values keeps every other line', () => {
    const { text } = change(
      { path: 'rules.production.sample.rate', value: 1 },
      { path: 'scorers.strict.limits.timeout', value: '1m' },
    );
    expect(diffLines(text)).toEqual([
      '-      rate: 0.1   # a tenth',
      '+      rate: 1   # a tenth',
      '+    limits:',
      '+      timeout: 1m',
    ]);
  });

  it('of a JSON file stays JSON', () => {
    const text = '{\n  "rules": [\n    {\n      "name": "a",\n      "scorers": ["tone"]\n    }\n  ]\n}\n';
    const asked = [{ path: 'rules.a.sample.rate', value: 0.5 }];
    const changed = changeConfigText(text, asked, { schema: configJsonSchema(), isJson: true });
    expect(JSON.parse(changed.text)).toEqual({
      rules: [{ name: 'a', scorers: ['tone'], sample: { rate: 0.5 } }],
    });
    expect(changed.text.split('\n').slice(0, 4)).toEqual(text.split('\n').slice(0, 4));
  });

  it('of a file without rules begins their list', () => {
    const asked = [{ path: 'rules.mine', value: { scorers: ['tone'] } }];
    const { text } = changeConfigText('', asked, { schema: configJsonSchema(), isJson: false });
    expect(text).toBe('rules:\n  - name: mine\n    scorers:\n      - tone\n');
  });

  it('of an empty file writes the section', () => {
    const asked = [{ path: 'budgets.total.perDay', value: 5 }];
    const changed = changeConfigText('# nothing yet\n', asked, { schema: configJsonSchema(), isJson: false });
    expect(changed.text).toBe('# nothing yet\nbudgets:\n  total:\n    perDay: 5\n');
  });

  it.each<[string, AskedChange, string[]]>([
    ['a rule', { path: 'rules.production.sample.rate', value: 1 }, []],
    ['a price', { path: 'judges.prices.openai/gpt-4.1.input', value: 1 }, []],
    ['a scorer without a module', { path: 'scorers.strict.failBelow', value: 0.5 }, []],
    [
      'a token',
      { path: 'auth.tokens.me', value: { token: 'x'.repeat(16) } },
      ['auth.tokens.me.name', 'auth.tokens.me.token'],
    ],
    ['the store', { path: 'store.url', value: 'http://evil' }, ['store.url']],
    [
      'the address of a judge',
      { path: 'judges.providers.openai.baseURL', value: 'http://evil' },
      ['judges.providers.openai.baseURL'],
    ],
    ['the default judge', { path: 'judges.default', value: 'evil/m' }, ['judges.default']],
    ['an exporter', { path: 'exporters.otlp.endpoint', value: 'http://evil' }, ['exporters.otlp.endpoint']],
    [
      'an alert channel',
      { path: 'alerts.webhook', value: [{ url: 'http://evil' }] },
      ['alerts.webhook.0.url'],
    ],
    ['a module', { path: 'scorers.tone.module', value: './evil.mjs' }, ['scorers.tone.module']],
    ['a new module', { path: 'scorers.mine', value: { module: './evil.mjs' } }, ['scorers.mine.module']],
    ['a scorer with a module', { path: 'scorers.tone.judge', value: 'a/b' }, ['scorers.tone.judge']],
    ['variables of a scorer', { path: 'scorers.strict.env', value: ['HOME'] }, ['scorers.strict.env.0']],
    ['a file of monitors', { path: 'monitors.new', value: './evil.mjs' }, ['monitors.2']],
    [
      'a secret of the environment',
      { path: 'rules.production.where.service', value: ['${env:KEY}'] },
      ['rules.production.where.service.0'],
    ],
    ['redaction', { path: 'redaction.enabled', value: false }, ['redaction.enabled']],
  ])('tells what an apply must never change: %s', (_, asked, expected) => {
    const { forbidden } = change(asked);
    expect(forbidden).toEqual(expected);
  });

  it('refuses a place that it cannot change by itself, and names it', () => {
    const text = 'rules: &all\n  - name: a\n    scorers: &s [tone]\n  - name: b\n    scorers: *s\n';
    const asked = [{ path: 'rules.a.scorers', value: ['completeness'] }];
    expect(() => changeConfigText(text, asked, { schema: configJsonSchema(), isJson: false })).toThrow(
      'rules.a.scorers: this place of the file cannot be changed by itself',
    );
  });
});
