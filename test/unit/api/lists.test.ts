import { expect, it } from 'vitest';
import { createList } from '../../../src/api/lists/cursors.ts';

it('a list ends one day ahead of the clock of the store, unless a request asks for more', () => {
  const nowMs = Date.UTC(2026, 0, 1);
  const list = createList('traces');

  expect(list.readQuery({ limit: 50 }, nowMs).filters.untilMs).toBe(Date.UTC(2026, 0, 2));
  const until = '2262-01-01T00:00:00Z';
  expect(list.readQuery({ limit: 50, until }, nowMs).filters.untilMs).toBe(Date.UTC(2262, 0, 1));
});
