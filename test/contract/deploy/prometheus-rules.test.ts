import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { findAskedMetrics } from '../../support/documents/asked-metrics.ts';
import { leadsToHeading } from '../../support/documents/markdown-links.ts';
import { hasProgram } from '../../support/processes/installed-program.ts';

const folder = fileURLToPath(new URL('../../../deploy/prometheus/', import.meta.url));
const read = (path: string) => readFileSync(join(folder, path), 'utf8');
const root = fileURLToPath(new URL('../../../', import.meta.url));
const page = readFileSync(join(root, 'docs/operations.md'), 'utf8');

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly labels?: { readonly severity?: string };
  readonly annotations?: { readonly summary?: string; readonly runbook_url?: string };
}

function readRules(path: string): Rule[] {
  const { groups } = parse(read(path)) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

const rules = [...readRules('rules/recording.yml'), ...readRules('rules/alerts.yml')];
const alerts = rules.filter((rule) => rule.alert !== undefined);

describe('the rules of Prometheus', () => {
  it('ask only for metrics that a process has, and for recorded ones', () => {
    const recorded = new Set(rules.flatMap(({ record }) => record ?? []));
    const { asked, unknown } = findAskedMetrics(
      rules.map(({ expr }) => expr),
      recorded,
    );

    expect(asked.length).toBeGreaterThan(rules.length);
    expect(unknown).toEqual([]);
  });

  it.each(alerts.map((rule) => [rule.alert ?? '', rule] as const))('%s says what to do', (name, rule) => {
    expect(rule.labels?.severity).toMatch(/^(critical|warning)$/);
    expect(rule.annotations?.summary).not.toBe('');
    const link = rule.annotations?.runbook_url?.replace(
      '{{ or $externalLabels.spanscore_docs "docs" }}',
      'docs',
    );
    expect(link).toBe(`docs/operations.md#${name.toLowerCase()}`);
    expect(leadsToHeading(root, link ?? '')).toBe(true);
  });

  it('would be found with a link that leads nowhere', () => {
    const links = ['docs/operations.md#spanscoredowm', 'docs/none.md#spanscoredown', 'docs/operations.md'];

    expect(links.filter((link) => leadsToHeading(root, link))).toEqual([]);
  });

  it('have no section of the page without its alert', () => {
    const told = [...page.matchAll(/^### (Spanscore\w+)$/gm)].map(([, name]) => name);

    expect(told).toEqual(alerts.map(({ alert }) => alert));
  });

  it('all have a test in which they fire', () => {
    const tests = read('tests/alerts.yml');

    expect(alerts.filter(({ alert }) => !tests.includes(`alertname="${alert}"`))).toEqual([]);
  });
});

const hasPromtool = hasProgram('promtool', 'the rules of Prometheus', 'apt-get install prometheus');

describe.skipIf(!hasPromtool)('promtool', () => {
  let scratch: string;

  beforeEach(() => {
    scratch = mkdtempSync(join(tmpdir(), 'spanscore-rules-'));
  });

  afterEach(() => {
    rmSync(scratch, { recursive: true });
  });

  /** Writes the configuration, changed, with a file of the token: that is on the machine of Prometheus only. */
  function writeConfig(change: (text: string) => string): string {
    const token = join(scratch, 'token');
    writeFileSync(token, 'a-token-for-metrics');
    const config = join(scratch, 'prometheus.yml');
    const text = read('prometheus.yml').replace('/etc/prometheus/spanscore-token', token);
    writeFileSync(config, change(text.replace('rules/*.yml', join(folder, 'rules/*.yml'))));
    return config;
  }

  it('accepts the configuration with its rules', () => {
    const config = writeConfig((text) => text);

    expect(execFileSync('promtool', ['check', 'config', config], { encoding: 'utf8' })).toContain(
      '2 rule files',
    );
  });

  it('refuses the configuration with a key that Prometheus does not know', () => {
    const config = writeConfig((text) => text.replace('scrape_interval:', 'scrape_every:'));

    const { status, stderr } = spawnSync('promtool', ['check', 'config', config], { encoding: 'utf8' });

    expect([status, stderr]).toEqual([1, expect.stringContaining('scrape_every')]);
  });

  it('sees each alert fire alone, after its time, and none of a healthy process', () => {
    const tests = join(folder, 'tests/alerts.yml');

    expect(execFileSync('promtool', ['test', 'rules', tests], { encoding: 'utf8' })).toContain('SUCCESS');
  });

  it.each([
    ['docs/operations.md', undefined],
    ['https://docs.example.com/spanscore/operations.md', 'https://docs.example.com/spanscore'],
  ])('sees an alert link to %s', (linked, docs) => {
    const tests = join(scratch, 'tests.yml');
    const test = {
      interval: '1m',
      external_labels: docs === undefined ? {} : { spanscore_docs: docs },
      input_series: [{ series: 'up{job="spanscore", instance="a:4320"}', values: '0x5' }],
      alert_rule_test: [
        {
          eval_time: '4m',
          alertname: 'SpanscoreDown',
          exp_alerts: [
            {
              exp_labels: { job: 'spanscore', instance: 'a:4320', severity: 'critical' },
              exp_annotations: {
                summary: 'a:4320 does not answer',
                runbook_url: `${linked}#spanscoredown`,
              },
            },
          ],
        },
      ],
    };
    // Every JSON document is also a YAML document.
    writeFileSync(tests, JSON.stringify({ rule_files: [join(folder, 'rules/alerts.yml')], tests: [test] }));

    expect(execFileSync('promtool', ['test', 'rules', tests], { encoding: 'utf8' })).toContain('SUCCESS');
  });

  it.each([
    ['an expression that cannot be read', 'spanscore_engine_up < 1', 'spanscore_engine_up < =', 'check'],
    ['a threshold that no longer fires', 'spanscore_engine_up < 1', 'spanscore_engine_up < 0', 'test'],
  ])('refuses %s', (_fault, right, wrong, command) => {
    const broken = join(scratch, 'alerts.yml');
    writeFileSync(broken, read('rules/alerts.yml').replace(right, wrong));
    const tests = join(scratch, 'tests.yml');
    const recording = join(folder, 'rules/recording.yml');
    const ruleFiles = `rule_files: [${recording}, ${broken}]`;
    writeFileSync(tests, read('tests/alerts.yml').replace(/^rule_files: .*$/m, ruleFiles));

    const { status } = spawnSync('promtool', [command, 'rules', command === 'check' ? broken : tests]);
    expect(status).not.toBe(0);
  });
});
