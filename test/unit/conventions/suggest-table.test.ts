import { describe, expect, it } from 'vitest';
import { readTrace, suggestTable } from '../../../src/conventions/index.ts';
import { checkTables } from '../../../src/domain/trace/convention-schema.ts';
import type { TraceReading } from '../../../src/domain/trace/agent-run.ts';
import { buildTrace, chatSpan } from '../../support/builders/spans.ts';
import { WRAPPERS } from '../../support/recordings/wrappers.ts';

/** Wrappers that a table cannot describe: who speaks is in the names of events, or no key tells the kinds apart. */
const BEYOND_TABLES = [
  'events whose names say who speaks, their texts in a payload',
  'a retrieval as a list of texts with scores',
  'role and content as plain keys of events',
];

/** Facts of the runs, without what says how they were read. */
function factsOf({ runs }: TraceReading): unknown {
  const isHow = (key: string) => ['conventions', 'warnings', 'id'].includes(key);
  return JSON.parse(JSON.stringify(runs, (key, value: unknown) => (isHow(key) ? undefined : value)));
}

describe('a suggested table', () => {
  it.each(Object.entries(WRAPPERS).filter(([name]) => !BEYOND_TABLES.includes(name)))(
    'reads the same facts as the reading by shape: %s',
    (_name, { trace }) => {
      const suggested = suggestTable([trace]);
      const read = readTrace({ ...trace, conventions: checkTables([suggested?.table]) });

      expect(suggested?.isWhole).toBe(true);
      expect(factsOf(read)).toEqual(factsOf(readTrace(trace)));
      expect(read.runs.flatMap(({ warnings }) => warnings.map(({ code }) => code))).not.toContain(
        'read_by_shape',
      );
    },
  );

  it.each(BEYOND_TABLES)('says when it does not read the same facts: %s', (name) => {
    const { trace } = WRAPPERS[name] ?? {};
    expect(trace && suggestTable([trace])).toMatchObject({ isWhole: false });
  });

  it('is not made of spans that a convention understands', () => {
    const call = chatSpan('c', { input: 'Q', output: 'A' });
    expect(suggestTable([buildTrace([call])])).toBeUndefined();
  });
});
