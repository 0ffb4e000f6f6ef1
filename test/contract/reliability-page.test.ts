import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FAULT_NAMES } from '../support/overlaps/overlap-actions.ts';

const root = new URL('../../', import.meta.url);
const page = readFileSync(new URL('docs/evidence/reliability.md', root), 'utf8');

/** Rows of the catalogue: a fault, a promise and the tests that show it. */
const rows = page
  .slice(page.indexOf('## The catalogue'))
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| fault |') && !line.startsWith('| --- |'))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, fault = '', promise = '', tests = '']) => ({ fault, promise, tests: tests.split('<br>') }));

/** Returns what is wrong with the name of a test; undefined when a file has a test of this title. */
function findFault(test: string): string | undefined {
  const [, path = '', title = ''] = /^`(test\/\S+\.test\.ts)` "(.+)"$/.exec(test) ?? [];
  const file = new URL(path, root);
  if (title === '' || !existsSync(file)) {
    return `no such file: ${test}`;
  }
  return readFileSync(file, 'utf8').includes(title) ? undefined : `no such title: ${test}`;
}

describe('docs/evidence/reliability.md', () => {
  it('names existing tests, or says that there is none', () => {
    const tested = rows.filter(({ promise }) => promise !== 'No test');

    expect(tested.length).toBeGreaterThan(30);
    expect(tested.flatMap(({ tests }) => tests.flatMap((test) => findFault(test) ?? []))).toEqual([]);
    expect(rows.filter((row) => !tested.includes(row)).map(({ tests }) => tests)).toEqual(
      Array.from({ length: rows.length - tested.length }, () => ['no test']),
    );
  });

  it('finds a title that no test has', () => {
    expect(findFault('`test/contract/components.test.ts` "names existing tests"')).toMatch('no such title');
    expect(findFault('`test/contract/none.test.ts` "names existing tests"')).toMatch('no such file');
  });

  it('lists every fault that is drawn for an overlap', () => {
    const lists = page.slice(
      page.indexOf('| who | faults that are drawn |'),
      page.indexOf('Then it ends the faults'),
    );
    const listed = lists
      .split('\n')
      .filter((line) => line.includes('`'))
      .flatMap((line) => {
        const [, who = '', faults = ''] = line.split('|').map((cell) => cell.trim());
        return [...faults.matchAll(/`([^`]+)`/g)].map(([, fault]) => `${who}: ${fault}`);
      });

    expect(listed.toSorted()).toEqual(FAULT_NAMES.toSorted());
  });
});
