import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createExporters } from '../../src/app/start-exports.ts';
import { listComponents } from '../../src/app/list-components.ts';
import { checkLoops } from '../../src/cli/checks/doctor-checks.ts';
import { COMPONENTS } from '../../src/components.ts';
import { createConfigReader, isSecretPath, reportedIssues } from '../../src/config/index.ts';
import { schemaNodesAt } from '../../src/config/json-schema.ts';
import type { KeyPath } from '../../src/config/key-path.ts';
import { secret } from '../../src/config/schema/fields.ts';
import { defineChannel } from '../../src/outbound/alerts/channel-definition.ts';
import { defineExporter } from '../../src/outbound/exporters/exporter-definition.ts';
import { folderWith } from '../support/builders/config-files.ts';

/** A component of each kind, as its own file would define it. */
const pigeonChannel = defineChannel({
  name: 'pigeon',
  options: z
    .array(
      z.strictObject({ url: z.url().describe('Address of the loft.'), ring: secret('Number of the ring.') }),
    )
    .describe('Carrier pigeons.'),
  mayBePrivate: false,
  readTarget: ({ url }) => ({ url, identity: { key: 'url', value: url } }),
  create: async () => [],
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
  ...COMPONENTS,
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
