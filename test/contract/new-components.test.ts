import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { OTLP_GROUP } from '../../collector/receivers/otlp-fields.ts';
import { defineReceiver } from '../../collector/receivers/receiver-definition.ts';
import { createChannels } from '../../src/outbound/alerts/start-alerts.ts';
import { configureReceivers } from '../../src/serve.ts';
import { createExporters } from '../../src/outbound/exporters/start-exports.ts';
import { listComponents, COMPONENTS } from '../../src/components.ts';
import { checkLoops, checkPorts } from '../../src/cli/checks/doctor-checks.ts';
import { createConfigReader, isSecretPath, reportedIssues } from '../../src/config/index.ts';
import { schemaNodesAt } from '../../src/config/json-schema.ts';
import type { KeyPath } from '../../src/config/key-path.ts';
import { endpoint, secret, serverTls } from '../../src/config/schema/fields.ts';
import { tlsIssues } from '../../src/config/tls-files.ts';
import { defineChannel } from '../../src/outbound/alerts/channel-definition.ts';
import { defineExporter } from '../../src/outbound/exporters/exporter-definition.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { folderWith } from '../support/builders/config-files.ts';

/** Components of each kind, as their own files would define them. */
const zipkinReceiver = defineReceiver({
  name: 'zipkin',
  key: 'receivers.zipkin',
  options: z
    .strictObject({
      endpoint: endpoint('Address that receives Zipkin spans.').default('127.0.0.1:9411'),
      tls: serverTls('TLS of this address.'),
      path: z.string().default('/api/v2/spans'),
    })
    .describe('Zipkin spans.'),
  isAlwaysOn: false,
  findFaults: ({ path }) => (path.startsWith('/') ? [] : [{ path: ['path'], message: 'must begin with /' }]),
  configure: async () => async () => ({ isListening: () => true, stop: async () => {} }),
});

const beaconReceiver = defineReceiver({
  name: 'otlp-beacon',
  key: 'receivers.otlp.beacon',
  group: OTLP_GROUP,
  options: z.strictObject({ topic: z.string().default('spans') }).describe('OTLP in beacons.'),
  isAlwaysOn: true,
  configure: async () => async () => ({ isListening: () => true, stop: async () => {} }),
});

const pigeonChannel = defineChannel({
  name: 'pigeon',
  options: z
    .array(
      z.strictObject({ url: z.url().describe('Address of the loft.'), ring: secret('Number of the ring.') }),
    )
    .describe('Carrier pigeons.'),
  mayBePrivate: false,
  readTarget: ({ url }) => ({ url, identity: { key: 'url', value: url } }),
  create: async (entries) =>
    entries.map(({ url }) => ({
      name: `pigeon ${url}`,
      maxEvents: 1,
      send: async () => ({ kind: 'delivered' }),
    })),
});

const archiveExporter = defineExporter({
  name: 'archive',
  options: z
    .strictObject({ folder: z.string().min(1), url: z.url().default('http://127.0.0.1:4318') })
    .describe('Scores in files.'),
  readOtlpUrl: ({ url }) => ({ key: 'url', url }),
  create: async ({ folder }) => [
    {
      name: `archive ${folder}`,
      maxBatch: 1,
      attempts: 1,
      deliver: async () => ({ kind: 'delivered' }),
      shutdown: async () => {},
    },
  ],
});

const EXTENDED = {
  receivers: [...COMPONENTS.receivers, zipkinReceiver, beaconReceiver],
  exporters: [...COMPONENTS.exporters, archiveExporter],
  channels: [...COMPONENTS.channels, pigeonChannel],
} as const;
const reader = createConfigReader(EXTENDED);

async function load(text: string) {
  return reader.loadConfig({ cwd: folderWith({ 'spanscore.config.yaml': text }), variables: {} });
}

/** Loads a configuration that has faults; returns them with line and column. */
async function faultsIn(text: string) {
  const failure = await load(text).catch((error: unknown) => error);
  return reportedIssues(failure).map(({ path, line, column, message }) => ({ path, line, column, message }));
}

function describeKey(path: KeyPath) {
  return schemaNodesAt(path, reader.jsonSchema()).map(({ description }) => description);
}

describe('a new line in the list of channels', () => {
  it('is enough for a section of the configuration', async () => {
    const { config } = await load('alerts:\n  pigeon: [{ url: https://loft.example.com, ring: "7" }]\n');
    expect(config.alerts.pigeon).toEqual([{ url: 'https://loft.example.com', ring: '7' }]);
    const created = await createChannels(config, EXTENDED.channels);
    expect(created.map(({ name }) => name)).toEqual(['pigeon https://loft.example.com']);
    expect(reader.parseConfig({ rules: [] }).alerts.pigeon).toEqual([]);
  });

  it('is enough for faults with line and column, and for a suggestion', async () => {
    expect(await faultsIn('alerts:\n  pigeon:\n    - { url: loft, ring: "7" }\n')).toEqual([
      { path: 'alerts.pigeon[0].url', line: 3, column: 9, message: expect.any(String) },
    ]);
    expect(
      await faultsIn('alerts:\n  pigeon:\n    - { url: "https://a.example", rimg: "7" }\n'),
    ).toMatchObject([
      { path: 'alerts.pigeon[0].rimg', line: 3, column: 35, message: 'unknown key; did you mean ring?' },
    ]);
    expect(await faultsIn('alerts:\n  pigeom: []\n')).toMatchObject([
      { path: 'alerts.pigeom', line: 2, column: 3, message: 'unknown key; did you mean pigeon?' },
    ]);
  });

  it('is enough for the checks of its addresses', async () => {
    const twice =
      'alerts:\n  pigeon:\n    - { url: "https://10.0.0.1/", ring: "7" }\n    - { url: "https://10.0.0.1/", ring: "8" }\n';
    expect((await faultsIn(twice)).map(({ path, message }) => `${path}: ${message}`)).toEqual([
      'alerts.pigeon[0]: 10.0.0.1 is a private address; add it to alerts.allowAddresses if it is meant',
      'alerts.pigeon[1]: 10.0.0.1 is a private address; add it to alerts.allowAddresses if it is meant',
      'alerts.pigeon[1].url: is configured twice; remove one, or name both',
    ]);
  });

  it('is enough for the JSON Schema, for secrets and for the list of components', () => {
    expect(describeKey(['alerts', 'pigeon'])).toEqual(['Carrier pigeons.']);
    expect(describeKey(['alerts', 'allowAddresses'])).toEqual([
      expect.stringContaining('webhook, slack, pagerduty and pigeon may call'),
    ]);
    expect(isSecretPath(['alerts', 'pigeon', 0, 'ring'], reader.jsonSchema())).toBe(true);
    expect(listComponents(EXTENDED).channels).toContainEqual({
      name: 'pigeon',
      key: 'alerts.pigeon',
      summary: 'Carrier pigeons.',
    });
  });
});

describe('a new line in the list of exporters', () => {
  it('is enough for a section of the configuration, and for an exporter', async () => {
    const { config } = await load('exporters:\n  archive: { folder: scores }\n');
    expect(config.exporters.archive?.folder).toBe('scores');
    const created = await createExporters(config.exporters, EXTENDED.exporters);
    expect(created.map(({ name }) => name)).toEqual(['archive scores']);
    expect(reader.parseConfig({ rules: [] }).exporters.archive).toBeUndefined();
  });

  it('is enough for faults with line and column, and for a suggestion', async () => {
    expect(await faultsIn('exporters:\n  archive: { folder: 7 }\n')).toMatchObject([
      { path: 'exporters.archive.folder', line: 2, column: 14 },
    ]);
    expect(await faultsIn('exporters:\n  archive: { folder: a, foldr: b }\n')).toMatchObject([
      { path: 'exporters.archive.foldr', line: 2, column: 25, message: 'unknown key; did you mean folder?' },
    ]);
  });

  it('is enough for the JSON Schema, for a variable, for doctor and for the list of components', async () => {
    expect(describeKey(['exporters', 'archive'])).toEqual(['Scores in files.']);
    const variables = { SPANSCORE_EXPORTERS_ARCHIVE_FOLDER: 'elsewhere' };
    const { config, warnings } = await reader.loadConfig({ cwd: folderWith({}), variables });
    expect(warnings).toEqual([]);
    expect(config.exporters.archive?.folder).toBe('elsewhere');
    expect(checkLoops(config, EXTENDED.exporters).detail).toContain('exporters.archive.url');
    expect(listComponents(EXTENDED).exporters).toContainEqual({
      name: 'archive',
      key: 'exporters.archive',
      summary: 'Scores in files.',
    });
  });
});

describe('a new line in the list of receivers', () => {
  it('is enough for a section of the configuration, and for a start', async () => {
    const { config } = await load('receivers:\n  zipkin: { path: /spans }\n');
    expect(config.receivers.zipkin).toEqual({ endpoint: '127.0.0.1:9411', path: '/spans' });
    expect(config.receivers.otlp.beacon.topic).toBe('spans');
    const configured = await configureReceivers(config, EXTENDED.receivers, silentLog);
    expect([...configured.keys()]).toEqual(['otlp-http', 'otlp-grpc', 'zipkin', 'otlp-beacon']);

    const without = reader.parseConfig({ rules: [] });
    expect(without.receivers.zipkin).toBeUndefined();
    expect([...(await configureReceivers(without, EXTENDED.receivers, silentLog)).keys()]).toEqual([
      'otlp-http',
      'otlp-grpc',
      'otlp-beacon',
    ]);
  });

  it('is enough for faults with line and column, and for a suggestion', async () => {
    expect(await faultsIn('receivers:\n  zipkin: { path: 7 }\n')).toMatchObject([
      { path: 'receivers.zipkin.path', line: 2, column: 13 },
    ]);
    expect(await faultsIn('receivers:\n  zipkin: { path: spans }\n')).toMatchObject([
      { path: 'receivers.zipkin.path', line: 2, column: 13, message: 'must begin with /' },
    ]);
    expect(await faultsIn('receivers:\n  zipkin: { pth: /a }\n')).toMatchObject([
      { path: 'receivers.zipkin.pth', line: 2, column: 13, message: 'unknown key; did you mean path?' },
    ]);
    expect(await faultsIn('receivers:\n  otlp:\n    beacon: { topik: a }\n')).toMatchObject([
      { path: 'receivers.otlp.beacon.topik', line: 3, message: 'unknown key; did you mean topic?' },
    ]);
  });

  it('is enough for the checks of its address', async () => {
    expect(await faultsIn('receivers:\n  zipkin: { endpoint: "127.0.0.1:4318" }\n')).toMatchObject([
      { path: 'receivers.zipkin.endpoint', message: expect.stringContaining('give them different ports') },
    ]);
    const { config, warnings } = await load('receivers:\n  zipkin: { endpoint: "0.0.0.0:0" }\n');
    expect(warnings).toEqual([expect.stringContaining('receivers.zipkin.endpoint: everyone who can reach')]);
    const ports = await checkPorts(config, EXTENDED.receivers);
    expect(ports.map(({ check }) => check)).toContain('port 0.0.0.0:0');
  });

  it('is enough for the paths and the checks of its TLS files', async () => {
    const tls = { cert: 'a.pem', key: '/k.pem' };
    const config = reader.parseConfig({ receivers: { zipkin: { tls } } }, { cwd: '/etc/spanscore' });
    expect(config.receivers.zipkin?.tls).toEqual({ cert: '/etc/spanscore/a.pem', key: '/k.pem' });
    expect(tlsIssues(config, EXTENDED.receivers).map(({ path }) => path.join('.'))).toEqual([
      'receivers.zipkin.tls.cert',
      'receivers.zipkin.tls.key',
    ]);
  });

  it('is enough for the JSON Schema, for a variable and for the list of components', async () => {
    expect(describeKey(['receivers', 'zipkin'])).toEqual(['Zipkin spans.']);
    expect(describeKey(['receivers', 'otlp'])).toEqual(['OpenTelemetry Protocol.']);
    expect(describeKey(['receivers', 'otlp', 'beacon'])).toEqual(['OTLP in beacons.']);
    const variables = { SPANSCORE_RECEIVERS_OTLP_BEACON_TOPIC: 'elsewhere' };
    const { config } = await reader.loadConfig({ cwd: folderWith({}), variables });
    expect(config.receivers.otlp.beacon.topic).toBe('elsewhere');
    expect(listComponents(EXTENDED).receivers).toContainEqual({
      name: 'zipkin',
      key: 'receivers.zipkin',
      summary: 'Zipkin spans.',
    });
  });
});
