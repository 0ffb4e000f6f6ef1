import { mkdirSync, readdirSync, statSync } from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { requireDone, type CliResult } from '../../../support/processes/cli.ts';
import { makeFolders } from '../../../support/store/backup-folders.ts';
import { fillTable, listTables } from '../../../support/store/filled-tables.ts';
import { digestTables, NOT_COPIED, withStore } from '../../../support/store/kept-folder.ts';

/** Rows of each table. Dates go back one day a row, and must not expire meanwhile. */
const ROWS = 30;

/** Lets the commands read this number of free bytes for every disk. */
function pretendFree(freeBytes: number): void {
  const read = files.statfs.bind(files);
  vi.spyOn(files, 'statfs').mockImplementation((async (path: string) =>
    Object.assign(await read(path), { bsize: 1, bavail: freeBytes })) as typeof files.statfs);
  syncBuiltinESMExports();
}

function leaveOut<T>(tables: Readonly<Record<string, T>>, names: readonly string[]): Record<string, T> {
  return Object.fromEntries(Object.entries(tables).filter(([table]) => !names.includes(table)));
}

describe('a backup of a store with rows in every table', () => {
  const folders = makeFolders();
  let before: Awaited<ReturnType<typeof digestTables>>;
  let made: CliResult;
  let done: CliResult;

  beforeAll(async () => {
    await withStore(folders.original, async (_, address) => {
      for (const columns of await listTables(address)) {
        // A tombstone has a hash by the key of the directory.
        if (columns.table !== 'tombstones') {
          await fillTable(address, columns, ROWS);
        }
      }
      before = await digestTables(address);
      made = await folders.backup('--json');
    });
    done = await folders.restore();
  });

  afterEach(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });

  it('restores all of them with equal rows and checksums', async () => {
    requireDone(made);
    requireDone(done);
    expect(done.stdout).toContain('with all rows of the backup');
    const after = await withStore(folders.restored, (_, address) => digestTables(address));
    expect(leaveOut(after, NOT_COPIED)).toEqual(leaveOut(before, NOT_COPIED));
    expect(Object.keys(before).length).toBeGreaterThan(30);
  });

  it('is a folder for its user alone, and leaves nothing else behind', () => {
    const { tables } = JSON.parse(made.stdout) as { tables: Record<string, { rows: number }> };
    expect(Object.keys(tables).toSorted()).toEqual(
      expect.arrayContaining(Object.keys(leaveOut(before, NOT_COPIED))),
    );
    expect(statSync(folders.copy).mode & 0o077).toBe(0);
    expect([folders.original, folders.restored].map((path) => readdirSync(join(path, 'backups')))).toEqual([
      [],
      [],
    ]);
  });

  it('is refused without room on the disk, with what it needs, and leaves nothing', async () => {
    const to = `${folders.copy}-full`;
    mkdirSync(to);
    pretendFree(100);
    const refused = await folders.run('backup', '--to', to, '--data-dir', folders.original);

    expect(refused).toMatchObject({ code: 69, stdout: '' });
    expect(refused.stderr).toMatch(
      /no room for a backup: it needs \d+ .iB on the disk of \S+copy-full, and 1 KiB are free; free some, or enlarge the disk/u,
    );
    expect(readdirSync(to)).toEqual([]);
    expect(statSync(to).mode & 0o077).toBe(0);
  });

  it('is refused for a folder with files, for one in the data directory, without a store, and for a server', async () => {
    const inside = await folders.run(
      'backup',
      '--to',
      join(folders.original, 'x'),
      '--data-dir',
      folders.original,
    );
    const taken = await folders.backup();
    const belowFile = await folders.run(
      'backup',
      '--to',
      join(folders.copy, 'backup.json', 'x'),
      '--data-dir',
      folders.original,
    );
    const nothing = await folders.run(
      'backup',
      '--to',
      `${folders.copy}-2`,
      '--data-dir',
      `${folders.original}-2`,
    );
    const server = await folders.run(
      'backup',
      '--to',
      `${folders.copy}-2`,
      '--store-url',
      'http://127.0.0.1:1',
    );

    expect(inside.stderr).toContain('name a folder outside of it');
    expect(taken.stderr).toContain('is not empty: name a folder that does not exist yet');
    expect(belowFile.stderr).toContain('cannot be made a folder for this user alone: ');
    expect(belowFile.stderr).not.toContain('--verbose');
    expect(nothing).toMatchObject({ code: 4 });
    expect(server).toMatchObject({ code: 78 });
    expect(server.stderr).toContain('use BACKUP and RESTORE of your ClickHouse server');
  });

  it('is restored into a directory without a store only, and from a backup only', async () => {
    const used = await folders.run('restore', '--from', folders.copy, '--data-dir', folders.original);
    const none = await folders.run('restore', '--from', folders.original, '--data-dir', folders.restored);

    expect(used).toMatchObject({ code: 1 });
    expect(used.stderr).toContain('has a store already: restore into another one with --data-dir');
    expect(none).toMatchObject({ code: 4 });
    expect(none.stderr).toContain('it has no backup.json');
  });
});
