import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { writeCases } from '../../../src/cli/issues/write-cases.ts';
import { buildPlanted, PLANTED } from '../../support/builders/planted-failures.ts';
import { tellNotProved } from '../../support/not-proved.ts';
import { emptyFolder } from '../../support/processes/cli.ts';
import { noJsPackages } from './js-packages.ts';

if (noJsPackages !== undefined) {
  tellNotProved('exported cases in a dataset of the published framework', noJsPackages);
}

interface Dataset {
  addItems(given: { items: unknown[] }): Promise<{ externalId: string; toolMocks?: unknown[] }[]>;
  listItems(): Promise<{ pagination: { total: number } }>;
}

describe.skipIf(noJsPackages !== undefined)('a dataset of the published framework', () => {
  it('takes the items of an export, once for each case', async () => {
    const folder = join(emptyFolder(), 'export');
    const cases = await Promise.all(Object.values(PLANTED).map(async (build) => buildPlanted(build().spans)));
    await writeCases(folder, 'planted failures', cases);
    const items = JSON.parse(readFileSync(join(folder, 'mastra.json'), 'utf8')) as {
      id: string;
      toolMocks: unknown;
    }[];
    const targets = fileURLToPath(new URL('mastra-targets.mjs', import.meta.url));
    const { emptyDataset } = (await import(targets)) as { emptyDataset: () => Promise<Dataset> };
    const dataset = await emptyDataset();
    const added = await dataset.addItems({ items });
    expect(added.map(({ externalId, toolMocks }) => ({ id: externalId, toolMocks }))).toEqual(
      items.map(({ id, toolMocks }) => ({ id, toolMocks })),
    );
    await dataset.addItems({ items });
    expect((await dataset.listItems()).pagination.total).toBe(items.length);
  });
});
