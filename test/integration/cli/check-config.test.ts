import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { emptyFolder, runCli } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';

const FILES = {
  'spanscore.config.yaml': `retention: { spans: 7d }
judges: { default: openai/gpt-5-mini }
scorers:
  strict: { use: rubric, options: { scale: 1 } }
  broken: { module: ./broken.ts }
receivers:
  otlp: { http: { tls: { cert: ./none.pem, key: ./no-key.pem } } }
monitors: [./monitors/*.yaml, ./nowhere/*.yaml]
rules: [{ name: a, scorers: [strict, broken, halucination] }]
`,
  'broken.ts': 'export default 5;\n',
  'no-key.pem': 'nothing\n',
  'monitors/a.yaml': 'groups:\n  - name: q\n    rules:\n      - { alert: A, detector: drif }\n',
  'monitors/b.yaml': 'groups: []\ngroup: []\n',
};

function formatFolder(files: Readonly<Record<string, string>>): string {
  const cwd = emptyFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), text);
  }
  return cwd;
}

interface Issue {
  readonly file: string | null;
  readonly line: number | null;
  readonly path: string;
  readonly message: string;
}

it.each([
  ['check-config', [/:5:\d+: scorers\.broken\.module: .*must be a scorer/]],
  ['serve', []],
])(
  '%s reports every fault at once: keys, names, options, TLS files, files of monitors %j',
  async (command, further) => {
    const { code, stderr } = await runCli([command], { cwd: formatFolder(FILES) });

    expect(code).toBe(78);
    for (const part of [
      'spanscore.config.yaml:1:1: retention: unknown key here; did you mean store.retention?',
      /:4:\d+: scorers\.strict\.options: .*options\.criteria/,
      ...further,
      /:7:\d+: receivers\.otlp\.http\.tls\.cert: cannot read .*none\.pem/,
      /:7:\d+: receivers\.otlp\.http\.tls\.key: .* is no PEM file/,
      /:8:\d+: monitors\[1\]: there is no file .*nowhere/,
      /:9:\d+: rules\[0\]\.scorers\[2\]: there is no scorer halucination; did you mean hallucination\?/,
      /a\.yaml:4:\d+: groups\[0\]\.rules\[0\]\.detector: .*did you mean drift\?/,
      'b.yaml:2:1: group: unknown key; did you mean groups?',
    ]) {
      expect(stderr).toMatch(part);
    }
  },
);

it('check-config --json prints the faults as JSON', async () => {
  const cwd = formatFolder(FILES);

  const { code, stdout } = await runCli(['check-config', '--json'], { cwd });

  expect(code).toBe(78);
  const { ok, issues } = JSON.parse(stdout) as { ok: boolean; issues: Issue[] };
  expect(ok).toBe(false);
  expect(issues).toHaveLength(9);
  expect(issues[0]).toEqual({
    file: join(cwd, 'spanscore.config.yaml'),
    line: 1,
    column: 1,
    source: 'file',
    path: 'retention',
    message: 'unknown key here; did you mean store.retention?',
  });
  expect(
    issues.filter(({ file }) => file?.endsWith('a.yaml')).map(({ line, path }) => ({ line, path })),
  ).toEqual([{ line: 4, path: 'groups[0].rules[0].detector' }]);
});

it.each([['check-config'], ['alerts', 'check', '--rules', 'monitors/a.yaml'], ['serve']])(
  '%s %s refuses monitors of scorers and agents that the configuration does not know',
  async (...command) => {
    const cwd = formatFolder({
      'spanscore.config.yaml': `monitors: [./monitors/*.yaml]
rules: [{ name: a, scorers: [behaviour], where: { agent: weather } }]
`,
      'monitors/a.yaml': `groups:
  - name: q
    rules:
      - { alert: A, detector: drift, series: { scorer: behaviour-tool-error } }
      - { alert: B, detector: drift, series: { agent: wether } }
`,
    });

    const { code, stderr } = await runCommand(command, { cwd });

    expect(code).toBe(78);
    expect(stderr).toMatch(
      /a\.yaml:4:\d+: groups\[0\]\.rules\[0\]\.series\.scorer: there is no scorer behaviour-tool-error; did you mean behaviour-tool-errors\?/,
    );
    expect(stderr).toMatch(/a\.yaml:5:\d+: groups\[0\]\.rules\[1\]\.series\.agent: .*did you mean weather\?/);
  },
);
