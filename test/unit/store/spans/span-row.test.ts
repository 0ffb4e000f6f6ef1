import { describe, expect, it } from 'vitest';
import { toLog } from '../../../../src/store/spans/read-traces.ts';

/** A row of otel_logs in the order in which it is read. */
function logRow(eventName: string, attributes: Record<string, string>): unknown[] {
  const head = ['', 'aa'.repeat(16), 'bb'.repeat(8), '1', 'INFO', 9, 'agent', '{}', {}, 'scope', '1'];
  return [...head, attributes, eventName];
}

describe('a row of logs', () => {
  it.each([
    ['the column', 'gen_ai.choice', {}, 'gen_ai.choice'],
    ['the column rather than the attribute', 'gen_ai.choice', { 'event.name': 'other' }, 'gen_ai.choice'],
    ['the attribute of older emitters', '', { 'event.name': 'gen_ai.choice' }, 'gen_ai.choice'],
    ['neither', '', {}, ''],
  ])('has the name of its event from %s', (_, column, attributes, expected) => {
    expect(toLog(logRow(column, attributes)).log.eventName).toBe(expected);
  });
});
