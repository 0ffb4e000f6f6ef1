import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, stepCountIs, tool } from 'ai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { runCli } from '../../support/processes/cli.ts';
import { freePorts } from '../../support/processes/free-ports.ts';
import { hasProgram } from '../../support/processes/installed-program.ts';
import { startProgram } from '../../support/processes/running-program.ts';

const deploy = fileURLToPath(new URL('../../../deploy/', import.meta.url));
const at = (path: string) => join(deploy, path);
const read = (path: string) => readFileSync(at(path), 'utf8');
const CONFIGS = globSync('**/spanscore.config.yaml', { cwd: deploy });

/** A value of sufficient length for each secret. */
function secretsOf(text: string): Record<string, string> {
  return valuesOf([...text.matchAll(/\$\{env:(\w+)(?::-)?\}/g)].map(([, name = '']) => name));
}

function valuesOf(names: readonly string[]): Record<string, string> {
  const addresses: Record<string, string> = {
    CLICKHOUSE_URL: 'http://clickhouse:8123',
    KAFKA_BROKER: 'kafka:9092',
  };
  return Object.fromEntries(names.map((name) => [name, addresses[name] ?? `${name}-`.padEnd(32, 'x')]));
}

describe('the configurations of spanscore in deploy', () => {
  it('are those of compose and of each shape for Kubernetes', () => {
    expect(CONFIGS.map(dirname).sort()).toEqual([
      'compose',
      'kubernetes/base',
      'kubernetes/overlays/kafka',
      'kubernetes/overlays/single-box',
    ]);
  });

  it.each(CONFIGS)('%s has no fault, with the addresses of the image', async (path) => {
    const image = read('docker/Dockerfile').matchAll(/^(?:ENV| ) (SPANSCORE_\w+ENDPOINT)=(\S+)/gm);
    const variables = {
      ...Object.fromEntries([...image].map(([, name = '', value = '']) => [name, value])),
      ...secretsOf(read(path)),
    };

    const { code, stdout } = await runCli(['check-config', at(path), '--json'], { variables });

    expect([code, JSON.parse(stdout)]).toMatchObject([0, { ok: true }]);
  });

  it('has rules for monitors that can be used', async () => {
    const { code, stderr } = await runCli([
      'alerts',
      'check',
      '--rules',
      at('compose/monitors/quality.yaml'),
    ]);

    expect([code, stderr]).toEqual([0, expect.any(String)]);
  });
});

interface Pods {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly PodVariables[] } };
  };
}

interface PodVariables {
  readonly envFrom: readonly { readonly secretRef: { readonly name: string } }[];
  readonly env?: unknown;
}

describe('the pods of a role', () => {
  const page = readFileSync(join(deploy, '../docs/deploy.md'), 'utf8').replaceAll('\\\n', '');
  const keysOf = (secret: string) => [
    ...(new RegExp(`create secret generic ${secret} (.*)`).exec(page)?.[1] ?? '').matchAll(/literal=(\w+)=/g),
  ];

  it.each([
    ['collector', ['INGEST_TOKEN']],
    ['scorer', []],
    ['api', ['ADMIN_TOKEN']],
  ])('of the %s get its secrets alone, with which its configuration has no fault', async (role, own) => {
    const [pods] = parseAllDocuments(read(`kubernetes/base/${role}.yaml`)).map(
      (document) => document.toJS() as Pods,
    );
    const [container] = pods?.spec.template.spec.containers ?? [];
    const { envFrom = [], env } = container ?? {};
    const secrets = envFrom.map(({ secretRef }) => secretRef.name);
    const names = secrets.flatMap(keysOf).map(([, name = '']) => name);

    expect([secrets, env]).toEqual([['spanscore-secrets', `spanscore-${role}`], undefined]);
    expect(names.filter((name) => name.endsWith('_TOKEN'))).toEqual(['METRICS_TOKEN', ...own]);
    const { code, stdout } = await runCli(
      ['check-config', at('kubernetes/base/spanscore.config.yaml'), '--json'],
      {
        variables: valuesOf(names),
      },
    );
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { ok: true }]);
  });
});

describe('the images of spanscore in deploy and on the pages', () => {
  const repository = fileURLToPath(new URL('../../../', import.meta.url));
  const files = globSync(['deploy/**/*.{yaml,yml}', 'deploy/docker/Dockerfile', 'docs/*.md'], {
    cwd: repository,
  });
  const tags = files.flatMap((file) =>
    [...readFileSync(join(repository, file), 'utf8').matchAll(/\bspanscore:(\d+\.[\w.-]*\w)/gu)].map(
      ([, tag = '']) => ({ file, tag }),
    ),
  );

  it('have the version of the package', () => {
    const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
      version: string;
    };

    expect(tags.filter(({ tag }) => tag !== version && tag !== `${version}-slim`)).toEqual([]);
    expect(new Set(tags.map(({ file }) => file))).toEqual(
      new Set([
        'deploy/compose/compose.yaml',
        'deploy/docker/Dockerfile',
        ...['api', 'collector', 'scorer'].map((role) => `deploy/kubernetes/base/${role}.yaml`),
        'deploy/kubernetes/overlays/single-box/spanscore.yaml',
        'deploy/kubernetes/overlays/single-box-restore/restore.yaml',
        'docs/deploy.md',
        'docs/operations.md',
      ]),
    );
  });

  it('have the engine where there is no server', () => {
    const full = tags.filter(({ tag }) => !tag.endsWith('-slim')).map(({ file }) => dirname(file));

    expect(
      new Set(full.filter((folder) => folder.includes('kubernetes') || folder.includes('compose'))),
    ).toEqual(
      new Set(['single-box', 'single-box-restore'].map((name) => `deploy/kubernetes/overlays/${name}`)),
    );
  });
});

interface Service {
  readonly image?: string;
  readonly build?: { readonly context: string; readonly dockerfile?: string };
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

describe('the file of Docker Compose', () => {
  const text = read('compose/compose.yaml');
  const { services, volumes } = parse(text, { merge: true }) as {
    services: Record<string, Service>;
    volumes: Record<string, unknown>;
  };
  const all = Object.entries(services);

  it('has every part of the road', () => {
    expect(Object.keys(services).sort()).toEqual([
      'agent',
      'alertmanager',
      'clickhouse',
      'collector',
      'grafana',
      'kafka',
      'model',
      'prometheus',
      'spanscore',
      'topics',
    ]);
  });

  it.each(all)('%s has a version, ports on loopback only, and gains no rights', (_name, service) => {
    const version = service.image?.split(':')[1];
    expect(service.build === undefined ? version : 'built').toMatch(/^v?\d+\.\d+|^built$/);
    expect((service.ports ?? []).filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    expect(service.security_opt).toContain('no-new-privileges:true');
  });

  it('takes every right from all but ClickHouse, which becomes its own user', () => {
    const keeping = all.filter(([, service]) => service.cap_drop?.includes('ALL') !== true);

    expect(keeping.map(([name]) => name)).toEqual(['clickhouse']);
  });

  it('mounts files that are there, and volumes that have a name', () => {
    const mounts = all
      .flatMap(([, service]) => service.volumes ?? [])
      .map((mount) => mount.split(':')[0] ?? '');
    const folders = all.flatMap(([, { build }]) => build?.context ?? []);
    const paths = [...mounts.filter((mount) => mount.startsWith('.')), ...folders];

    expect(paths.filter((path) => !existsSync(resolve(at('compose'), path)))).toEqual([]);
    const named = mounts.filter((mount) => !mount.startsWith('.'));
    expect(new Set(named)).toEqual(new Set(Object.keys(volumes)));
  });

  it('asks for each secret in .env.example, and has a default for none', () => {
    const asked = new Set([...text.matchAll(/\$\{(\w+):\?[^}]*\}/g)].map(([, name]) => name));
    const told = [...read('compose/.env.example').matchAll(/^(\w+)=(.*)$/gm)];

    expect(new Set(told.map(([, name]) => name))).toEqual(asked);
    expect(told.filter(([, , value]) => value !== '')).toEqual([]);
    expect([...text.matchAll(/\$\{\w+(:-[^}]*)?\}/g)]).toEqual([]);
  });

  it('gives spanscore each variable that its configuration asks for', () => {
    const given = Object.keys(services['spanscore']?.environment ?? {}).sort();

    expect(given).toEqual(Object.keys(secretsOf(read('compose/spanscore.config.yaml'))).sort());
  });

  it('has a service for each address of Prometheus, which answers other containers', () => {
    const { scrape_configs: jobs, alerting } = parse(read('prometheus/prometheus.yml')) as {
      scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[];
      alerting: { alertmanagers: { static_configs: { targets: string[] }[] }[] };
    };
    const targets = [...jobs, ...alerting.alertmanagers].flatMap((each) =>
      each.static_configs.flatMap((config) => config.targets.map((target) => target.split(':')[0] ?? '')),
    );

    expect(jobs.map(({ job_name }) => job_name)).toEqual(['spanscore', 'otel-collector']);
    expect(targets.filter((name) => !(name in services))).toEqual([]);
    // The default is loopback.
    expect(read('otel-collector/gateway.yaml')).toContain('${env:METRICS_HOST:-127.0.0.1}');
    expect(services['collector']?.environment?.['METRICS_HOST']).toBe('0.0.0.0');
  });

  it('installs the plugin of the data source before Grafana reads the data source', () => {
    const { datasources } = parse(read('grafana/provisioning/datasources/spanscore.yaml')) as {
      datasources: { type: string }[];
    };
    const installed = services['grafana']?.environment?.['GF_PLUGINS_PREINSTALL_SYNC'];
    // Grafana has the data source of Prometheus.
    const others = datasources.map(({ type }) => type).filter((type) => type !== 'prometheus');

    expect(installed?.split(',')).toEqual(others);
    expect(Object.keys(services['grafana']?.environment ?? {})).not.toContain('GF_INSTALL_PLUGINS');
  });

  it('has a script for the reader that a shell can run', () => {
    const script = at('compose/clickhouse/create-reader.sh');

    expect(spawnSync('bash', ['-n', script]).status).toBe(0);
    expect(statSync(script).mode & 0o111).not.toBe(0);
  });
});

describe('the scripted model of the sample agent', () => {
  it('asks for the tool, then answers from its result', async () => {
    const [port = 0] = await freePorts(1);
    const model = await startProgram({
      name: 'the model',
      binary: process.execPath,
      args: [at('compose/agent/model.mjs')],
      variables: { PORT: String(port) },
      folder: mkdtempSync(join(tmpdir(), 'spanscore-model-')),
      isReady: () =>
        fetch(`http://127.0.0.1:${port}`).then(
          () => true,
          () => false,
        ),
      timeoutMs: 60_000,
    });
    try {
      const provider = createOpenAICompatible({ name: 'script', baseURL: `http://127.0.0.1:${port}/v1` });
      const weather = tool({
        inputSchema: z.object({ city: z.string() }),
        execute: async ({ city }) => ({ city, tempC: 3, sky: 'snow' }),
      });

      const { text } = await generateText({
        model: provider('script'),
        prompt: 'And in Oslo?',
        tools: { get_weather: weather },
        stopWhen: stepCountIs(3),
      });

      expect(text).toBe('In Oslo there is snow, and it is 3 degrees.');
    } finally {
      await model.stop();
    }
  });
});

const hasAmtool = hasProgram(
  'amtool',
  'the routes of Alertmanager',
  'apt-get install prometheus-alertmanager',
);

describe.skipIf(!hasAmtool)('amtool', () => {
  const file = at('compose/alertmanager.yml');
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'spanscore-amtool-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('accepts the configuration, and routes what is critical to the person on call', () => {
    const route = (severity: string) =>
      execFileSync('amtool', ['config', 'routes', 'test', `--config.file=${file}`, `severity=${severity}`], {
        encoding: 'utf8',
      }).trim();

    expect(spawnSync('amtool', ['check-config', file]).status).toBe(0);
    expect([route('critical'), route('warning')]).toEqual(['on-call', 'everybody']);
  });

  it('refuses a receiver that nobody defined', () => {
    const broken = join(folder, 'alertmanager.yml');
    writeFileSync(broken, read('compose/alertmanager.yml').replace('- name: on-call', '- name: somebody'));

    expect(spawnSync('amtool', ['check-config', broken]).status).not.toBe(0);
  });
});
