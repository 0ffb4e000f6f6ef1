import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hasEnded, markProcess, readProcessStart } from '../../../../src/store/embedded/processes.ts';

const [machine = '', ownPid = '', ownStart = ''] = markProcess().split(' ');
const children: ChildProcess[] = [];

/** Starts a process and returns the mark that it would have. */
async function startMarked(): Promise<{ child: ChildProcess; mark: string }> {
  const child = spawn('sleep', ['60']);
  children.push(child);
  await once(child, 'spawn');
  const start = (await readProcessStart(Number(child.pid)))?.split(' ')[1];
  return { child, mark: `${machine} ${child.pid} ${start}` };
}

let killed: string;
let living: string;
let stopped: string;

beforeAll(async () => {
  const { child, mark } = await startMarked();
  killed = mark;
  child.kill('SIGKILL');
  await once(child, 'exit');
  living = (await startMarked()).mark;
  const paused = await startMarked();
  paused.child.kill('SIGSTOP');
  stopped = paused.mark;
});
afterAll(() => children.forEach((child) => child.kill('SIGKILL')));

it.runIf(process.platform === 'linux').each([
  ['a killed process', () => killed, true],
  ['a process whose pid another one has now', () => `${machine} ${ownPid} ${Number(ownStart) - 1}`, true],
  ['this process', () => `${machine} ${ownPid} ${ownStart}`, false],
  ['a process that runs', () => living, false],
  ['a process that hangs', () => stopped, false],
  ['a killed process of another machine or container', () => killed.replace(machine, 'f'.repeat(16)), false],
  ['a process of a system that tells nothing', () => '', false],
  ['a process of an earlier version', () => '6f1b8f5e-6c0e-5b7e-9f0a-2f6d1c3a9e41', false],
  ['no process', () => `${machine} 0 ${ownStart}`, false],
])('%s is known to have ended only when it has', (_process, mark, isEnded) => {
  expect(hasEnded(mark())).toBe(isEnded);
});
