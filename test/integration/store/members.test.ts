import { afterAll, beforeAll, expect, test } from 'vitest';
import { testStore, type TestStore } from '../../support/store/store-rows.ts';

let it: TestStore;

beforeAll(async () => {
  it = await testStore();
});
afterAll(async () => {
  await it.stop();
});

test('every member that beats sees itself and the other members, with their work', async () => {
  const names = async (member: string) =>
    (await it.store.members.beat(member, { cells: [member, 'shared'] })).members.map(({ name }) => name);
  expect(await names('a')).toEqual(['a']);
  expect(await names('b')).toEqual(['a', 'b']);
  const { members } = await it.store.members.beat('a', { cells: ['changed'] });
  expect(members).toMatchObject([
    { name: 'a', cells: ['changed'], isLeaving: false },
    { name: 'b', cells: ['b', 'shared'], isLeaving: false },
  ]);
});

test('a beat is stamped by the store', async () => {
  const first = await it.store.members.beat('stamped', { cells: [] });
  const second = await it.store.members.beat('stamped', { cells: [] });
  const find = ({ members }: typeof first) => members.find(({ name }) => name === 'stamped')!.beatAtMs;
  expect(find(first)).toBeLessThanOrEqual(first.nowMs);
  expect(find(second)).toBeGreaterThan(find(first));
  expect(find(second)).toBeLessThanOrEqual(second.nowMs);
});

test('a member that leaves is marked, and may come back', async () => {
  const isLeaving = async (leaving: boolean) =>
    (await it.store.members.beat('c', { cells: [], leaving })).members.find(({ name }) => name === 'c')
      ?.isLeaving;
  expect(await isLeaving(false)).toBe(false);
  expect(await isLeaving(true)).toBe(true);
  expect(await isLeaving(false)).toBe(false);
});

test('all members are dismissed at once, and one that still runs comes back with its next beat', async () => {
  for (const member of ['killed', 'runs', 'left']) {
    await it.store.members.beat(member, { cells: ['work'], leaving: member === 'left' });
  }

  await it.store.members.dismissAll();

  const { members } = await it.store.members.beat('runs', { cells: ['work'] });
  expect(members.filter(({ isLeaving }) => !isLeaving)).toMatchObject([{ name: 'runs', cells: ['work'] }]);
  expect(members.find(({ name }) => name === 'killed')).toMatchObject({ cells: ['work'], isLeaving: true });
});

test('the duties of all members are free at once after a dismissal', async () => {
  const { duties } = it.store;
  const beat = (member: string) =>
    duties.beat([{ duty: 'exporter a', member, joinedAtMs: undefined, isLeaving: false }]);
  const names = async () => (await duties.readMembers(['exporter a'], 15_000)).map(({ member }) => member);
  await beat('killed');
  await duties.dismissAll();
  await beat('started');

  expect(await names()).toEqual(['started']);

  await duties.dismissAll();
  expect(await names()).toEqual([]);
});

test.runIf(process.platform === 'linux')(
  'a duty of a process of this machine that was killed is free at once, and one of another machine is not',
  async () => {
    const { duties } = it.store;
    const own = duties.nameMember();
    // This process has another start: a killed one had its pid.
    const killed = own.replace(/\d+$/, (start) => String(Number(start) - 1));
    const elsewhere = killed.replace(/ \S+ /, ` ${'f'.repeat(16)} `);
    await duties.beat(
      [killed, elsewhere, own].map((member) => ({
        duty: 'job 1',
        member,
        joinedAtMs: undefined,
        isLeaving: false,
      })),
    );
    const members = await duties.readMembers(['job 1'], 15_000);
    expect(members.map(({ member }) => member).sort()).toEqual([elsewhere, own].sort());
  },
);

test('the runs of the members that evaluate monitors reach from the first to the last beat, also after a dismissal', async () => {
  const { duties, monitors } = it.store;
  const joinedAtMs = (await monitors.nowMs()) - 3_600_000;
  const beat = (member: string, joined?: number) =>
    duties.beat([{ duty: 'monitors', member, joinedAtMs: joined, isLeaving: false }]);
  await beat('one', joinedAtMs);
  await beat('two');
  const before = await monitors.runs();
  expect(before).toHaveLength(2);
  expect(before[0]?.fromMs).toBe(joinedAtMs);

  await duties.dismissAll();

  const after = await monitors.runs();
  expect(after.map(({ toMs }) => toMs)).toEqual(before.map(({ toMs }) => toMs + 1));
});
