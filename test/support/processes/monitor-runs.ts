import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { MonitorJob } from './monitor-process.ts';
import type { StepGates } from '../fakes/step-gates.ts';

const PROCESS = fileURLToPath(new URL('monitor-process.ts', import.meta.url));

/** A process that evaluates monitors. */
export interface MonitorRun {
  /** kill -9. */
  readonly kill: () => void;
  /** Times that are still to be evaluated; none when the process ended by itself. */
  readonly ended: Promise<readonly number[]>;
}

export function startMonitorRun(job: MonitorJob): MonitorRun {
  const child = spawn(process.execPath, [PROCESS, JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (data: Buffer) => (output += data.toString()));
  const ended = new Promise<readonly number[]>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (signal === null && code !== 0) {
        reject(new Error(`the process ended with ${code}`));
        return;
      }
      const atMs = Number(output.trim().split('\n').at(-1));
      resolve(signal === null ? [] : job.clocksMs.slice(Math.max(0, job.clocksMs.indexOf(atMs))));
    });
  });
  return { kill: () => void child.kill('SIGKILL'), ended };
}

/**
 * Runs one process after another until one ends by itself. Each process before it is killed at a step (0: at none).
 * @returns the steps at which the processes were killed
 */
export async function runToTheEnd(
  { clocksMs, ...job }: MonitorJob,
  gates: StepGates,
  killAt: (count: number) => number,
): Promise<string[]> {
  const killedAt: string[] = [];
  let left = clocksMs;
  for (let count = 1; left.length > 0; count += 1) {
    const run = startMonitorRun({ ...job, clocksMs: left });
    gates.arm(killAt(count), run.kill);
    left = await run.ended;
    if (left.length > 0) {
      killedAt.push(gates.steps.at(-1) ?? '');
    }
  }
  return killedAt;
}
