import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DELIVERIES } from '../../src/domain/delivery.ts';
import { DECISIONS } from '../../src/domain/decision.ts';
import { JUDGE_CALLS } from '../../src/domain/judge-call.ts';
import { RUNS } from '../../src/domain/run-record.ts';
import { SCORES } from '../../src/domain/score.ts';
import { DEPLOY_MARKERS } from '../../src/domain/deploy-marker.ts';
import { storeNameOf, type Table } from '../../src/domain/table.ts';
import { DEAD_LETTERS } from '../../src/store/contracts/dead-letters.ts';
import { JOBS } from '../../src/store/contracts/jobs.ts';
import { SPEND } from '../../src/store/contracts/stores.ts';

const root = new URL('../../', import.meta.url);
const TABLES: readonly Table[] = [SCORES, DECISIONS, RUNS, JUDGE_CALLS, DELIVERIES, DEAD_LETTERS];

/** Tables with few columns of common names: their second lists are looked for in the store alone. */
const SMALL: readonly Table[] = [SPEND, JOBS];

/** Part of the columns of a table that a file may name with a type, a schema or an alias of SQL. */
const SOME = 0.6;

/** A name with a type, a schema or a value of a row, or an alias of a column. */
const LISTED =
  /\b(\w+)\??: (?:string|number|boolean|z\.|row\.|column|wordOf|named|bytes|jsonOf|Count|Time)|\b\w+\)* AS (\w+)/gu;

function read(path: string): string {
  return readFileSync(new URL(path, root), 'utf8');
}

function listed(text: string): Set<string> {
  return new Set(
    [...text.matchAll(LISTED)].map(([, name = '', alias = '']) => {
      const found = name || alias;
      return `${found.charAt(0).toLowerCase()}${found.slice(1)}`;
    }),
  );
}

function isDefinition(text: string): boolean {
  return text.includes('satisfies Table;');
}

describe('A row is defined once', () => {
  const sources = globSync('{src,collector}/**/*.{ts,tsx}', { cwd: root }).map((path) => ({
    path,
    text: read(path),
  }));

  it.each([...TABLES, ...SMALL])('the columns of $name have no second list', (table) => {
    const names = Object.keys(table.columns);
    const lists = sources.filter(({ path, text }) => {
      if (SMALL.includes(table) && !path.startsWith('src/store/')) {
        return false;
      }
      const found = listed(text);
      return names.filter((name) => found.has(name)).length > names.length * SOME;
    });
    expect(lists.filter(({ text }) => isDefinition(text))).not.toEqual([]);
    expect(lists.filter(({ text }) => !isDefinition(text)).map(({ path }) => path)).toEqual([]);
  });

  it.each([...TABLES, ...SMALL, DEPLOY_MARKERS])(
    'docs/sql.md has the columns and types of the definition of $name',
    (table) => {
      const section = read('docs/sql.md').split(`### \`${table.name}\`\n`)[1]?.split('\n### ')[0] ?? '';
      const told = [...section.matchAll(/^\| `(.+)` \| `(.+)` \|$/gmu)].map(
        ([, name, type]) => `${name} ${type}`,
      );
      const defined = [
        ...Object.entries(table.columns).map(
          ([name, column]) => `${storeNameOf(name, column)} ${column.type}`,
        ),
        ...Object.entries(table.ofStore).map(([name, type]) => `${name} ${type}`),
      ];
      expect(told.toSorted()).toEqual(defined.toSorted());
    },
  );
});
