import { expect, test } from 'vitest';
import { FACT_KEYS } from '../../../../src/conventions/fact-keys.ts';
import { applyFactKeys, FACTS_COLUMN } from '../../../../src/store/schema/schema.ts';

test.each([
  ['has every key', FACTS_COLUMN, 0],
  ['lacks a key of a session', FACTS_COLUMN.replace(`'${FACT_KEYS.span.at(-1)}'`, "'another'"), 1],
  ['lacks a key of a resource', FACTS_COLUMN.replace("'service.version'", "'another'"), 1],
])('a store whose column of facts %s is altered only when it must', async (_, column, altered) => {
  const taken: string[] = [];
  const database = { command: async (sql: string) => void taken.push(sql) };

  await applyFactKeys(database, new Map([['otel_traces', `CREATE TABLE otel_traces (\`Facts\` ${column})`]]));

  expect(taken).toEqual(
    Array.from({ length: altered }, () => `ALTER TABLE otel_traces MODIFY COLUMN \`Facts\` ${FACTS_COLUMN}`),
  );
});
