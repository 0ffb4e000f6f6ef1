import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

// Files of deploy/compose/clickhouse, read by the embedded engine, which merges config.d into its configuration as a server does.

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const RUN_ENGINE = fileURLToPath(new URL('../../support/store/run-configured-engine.ts', import.meta.url));

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'spanscore-clickhouse-'));
  mkdirSync(join(folder, 'config.d'));
  writeFileSync(join(folder, 'config.xml'), '<clickhouse></clickhouse>');
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

interface Ran {
  readonly status: number | null;
  readonly answers: readonly string[];
  readonly stderr: string;
}

function runEngine(statements: readonly string[]): Ran {
  const { status, stdout, stderr } = spawnSync(process.execPath, [RUN_ENGINE, folder], {
    encoding: 'utf8',
    input: JSON.stringify(statements),
  });
  return { status, answers: status === 0 ? (JSON.parse(stdout) as string[]) : [], stderr };
}

describe('the disk for backups of a server', () => {
  /** The statements of the page that begin with a word. */
  const told = (word: string) => new RegExp(`^${word} .*;$`, 'm').exec(read('docs/operations.md'))?.[0] ?? '';
  const backup = told('BACKUP DATABASE spanscore');
  const drop = told('DROP DATABASE IF EXISTS spanscore');
  const restore = told('RESTORE DATABASE spanscore');

  /** Writes the configuration, changed, with a path of this machine. */
  function writeDisk(right: string, wrong: string): void {
    const text = read('deploy/compose/clickhouse/backups.xml').replace('/backups/', `${folder}/backups/`);
    expect(text).toContain(right);
    writeFileSync(join(folder, 'config.d/backups.xml'), text.replace(right, wrong));
  }

  function backUpAndRestore(): Ran {
    return runEngine([
      'CREATE DATABASE spanscore',
      'CREATE TABLE spanscore.scores (Score Float64) ENGINE = MergeTree ORDER BY ()',
      'INSERT INTO spanscore.scores VALUES (0.25), (0.5)',
      backup,
      drop,
      restore,
      'SELECT count(), sum(Score) FROM spanscore.scores',
    ]);
  }

  it('takes a backup and gives it back, by the statements of the page', () => {
    writeDisk('<type>local', '<type>local');

    const { status, answers } = backUpAndRestore();

    expect([backup, drop, restore]).not.toContain('');
    expect([status, answers.at(-1)]).toEqual([0, '2\t0.75']);
  });

  it.each([
    ['a kind of disk that nobody knows', '<type>local', '<type>locale', 'unknown disk type: locale'],
    [
      'another disk than the allowed one',
      '<allowed_disk>backups',
      '<allowed_disk>backup',
      'is not allowed for backups',
    ],
    ['a text that is no XML', '</disks>', '', 'Failed to initialize'],
  ])('refuses %s', (_fault, right, wrong, message) => {
    writeDisk(right, wrong);

    const { status, stderr } = backUpAndRestore();

    expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
  });
});

describe('the reader of Grafana', () => {
  it('is made by statements that the engine reads', () => {
    const sql = /<<SQL\n(.*?)\nSQL$/ms.exec(read('deploy/compose/clickhouse/create-reader.sh'))?.[1] ?? '';
    const statements = sql
      .split(';')
      .map((each) => each.trim())
      .filter((each) => each !== '');
    const quoted = statements.map((each) => `'${each.replaceAll(/[\\']/gu, String.raw`\$&`)}'`);

    expect(statements.length).toBeGreaterThan(3);
    expect(runEngine(quoted.map((each) => `SELECT formatQuery(${each})`)).status).toBe(0);
    const broken = quoted.map((each) => each.replace(' ON ', ' AT ')).filter((each) => each.includes(' AT '));
    expect(runEngine(broken.map((each) => `SELECT formatQuery(${each})`))).toMatchObject({ status: 1 });
  });
});
