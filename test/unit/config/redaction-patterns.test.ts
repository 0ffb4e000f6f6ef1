import { expect, it } from 'vitest';
import { parseConfig } from '../../../src/configuration.ts';
import { REDACTION_PATTERNS } from '../../../src/config/schema/judges.ts';
import { DEFAULT_PATTERNS, readRedactionPattern } from '../../../src/judge/redaction/redaction-patterns.ts';

it('the configuration knows the same named patterns as the redaction, and the same defaults', () => {
  const labels = REDACTION_PATTERNS.map((name) => readRedactionPattern(name, 'x').label);

  expect(new Set(labels).size).toBe(REDACTION_PATTERNS.length);
  expect(() => readRedactionPattern('other', 'x')).toThrow(/known: /);
  expect(parseConfig({}).redaction.patterns.toSorted()).toEqual([...DEFAULT_PATTERNS].toSorted());
});
