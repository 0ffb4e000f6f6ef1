import { expect, it } from 'vitest';
import { createMutationWaker } from '../../../../src/store/embedded/mutation-waker.ts';
import type { ChdbResult } from '../../../../src/store/embedded/session-pool.ts';
import { until } from '../../../support/until.ts';

/** A session of an engine whose looks at open rewrites have these answers, the last one for ever. */
function openSession(answers: string[]) {
  const statements: string[] = [];
  let isClosed = false;
  const session = {
    async queryAsync(sql: string): Promise<ChdbResult> {
      statements.push(sql.split(' ')[0] === 'SELECT' ? 'look' : sql);
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      const text = sql.startsWith('SELECT') ? (answer ?? '') : '';
      return { elapsed: 0, rowsRead: 0, bytesRead: 0, bytes: () => Buffer.from(text) };
    },
    close: () => void (isClosed = true),
  };
  return { session, statements, isClosed: () => isClosed };
}

it('wakes each table until nothing is left to rewrite', async () => {
  const { session, statements, isClosed } = openSession(['d\tt\t3\nd\tu\t1\n', '', '', '']);
  const waker = createMutationWaker(session);
  waker.watch(Promise.resolve());
  await until(() => statements.length >= 4);
  await waker.stop();
  expect(statements).toEqual(['look', 'SYSTEM START MERGES `d`.`t`', 'SYSTEM START MERGES `d`.`u`', 'look']);
  expect(isClosed()).toBe(true);
});

it('looks on while a change is under way, and once more after one that failed', async () => {
  const { session, statements } = openSession(['']);
  const waker = createMutationWaker(session);
  const { promise, reject } = Promise.withResolvers<void>();
  waker.watch(promise);
  await until(() => statements.length >= 2);
  reject(new Error('no such table'));
  await waker.stop();
  expect(new Set(statements)).toEqual(new Set(['look']));
});
