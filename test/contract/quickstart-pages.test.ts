import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  readBlocks,
  readQuickstarts,
  readShownCommands,
  type Quickstart,
} from '../support/documents/quickstarts.ts';

const peers = new URL('../peers/', import.meta.url);
const quickstarts = readQuickstarts();

/** The packages of the lines that begin with `npm install` or `pip install`, without those of spanscore itself. */
function installedPackages({ page }: Quickstart): string[] {
  const commands = readBlocks(page, 'sh').join('').replaceAll('\\\n', ' ');
  const lists = [...commands.matchAll(/^(?:npm|pip) install (.*)$/gm)].map(([, list = '']) => list);
  return lists
    .flatMap((list) => list.replaceAll('"', '').trim().split(/\s+/))
    .map((name) => name.replace(/(?<=.)@\d+$/, ''))
    .filter((name) => name !== 'spanscore');
}

/** The version of each package that the tests run the program with. */
function testedVersions({ name, language }: Quickstart): Map<string, string> {
  if (language === 'python') {
    const requirements = readFileSync(new URL(`python/requirements/${name}.txt`, peers), 'utf8');
    return new Map(
      [...requirements.matchAll(/^([\w-]+)==(\S+)$/gm)].map(([, one = '', is = '']) => [one, is]),
    );
  }
  const lock = JSON.parse(readFileSync(new URL('js/package-lock.json', peers), 'utf8')) as {
    packages: Record<string, { version: string }>;
  };
  return new Map(
    Object.entries(lock.packages).map(([path, { version }]) => [path.replace('node_modules/', ''), version]),
  );
}

describe.each(quickstarts)('the quickstart $name', (quickstart) => {
  const { page, language, program } = quickstart;

  it('shows the program that the tests run', () => {
    expect(readBlocks(page, language)).toEqual([program]);
  });

  it('installs packages that the tests run the program with, in the versions that it names', () => {
    const versions = testedVersions(quickstart);
    const named = page
      .slice(page.indexOf('A test runs this program'))
      .matchAll(/([@\w/-]+) (\d+\.\d+\.\d+)/g);

    expect(installedPackages(quickstart)).not.toEqual([]);
    expect(installedPackages(quickstart).filter((name) => !versions.has(name.replace(/\[.*\]/, '')))).toEqual(
      [],
    );
    const wrong = [...named].filter(([, name = '', version]) => versions.get(name) !== version);
    expect(wrong.map(([text]) => text)).toEqual([]);
  });

  it('shows what the program, scores and inspect print', () => {
    const [run, scores, inspect] = readShownCommands(page).map(({ command }) => command);

    expect(run).toBe(language === 'python' ? 'python agent.py' : 'node agent.mjs');
    expect(scores).toBe('npx spanscore scores');
    expect(inspect).toMatch(/^npx spanscore inspect [0-9a-f]{32}$/);
  });
});

it('links each quickstart from the README', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

  expect(
    quickstarts.map(({ name }) => name).filter((name) => !readme.includes(`docs/quickstarts/${name}.md`)),
  ).toEqual([]);
});
