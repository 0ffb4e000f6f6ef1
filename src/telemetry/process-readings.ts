import type { Reading, ReadingSource } from './metrics.ts';
import { readFile, statfs } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const NS_PER_S = 1e9;
const US_PER_S = 1e6;
const RESOLUTION_MS = 10;

/** Reads memory, CPU time and the event loop delay of this process; the delay starts again at each scrape. */
export function processReadings(): { readonly source: ReadingSource; stop(): void } {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  function source(): Reading[] {
    const { user, system } = process.cpuUsage();
    const readings: Reading[] = [
      { name: 'process.memory.usage', value: process.memoryUsage.rss() },
      { name: 'process.cpu.time', value: user / US_PER_S, labels: { 'cpu.mode': 'user' } },
      { name: 'process.cpu.time', value: system / US_PER_S, labels: { 'cpu.mode': 'system' } },
      { name: 'process.uptime', value: process.uptime() },
      { name: 'nodejs.eventloop.delay.p50', value: delay.percentile(50) / NS_PER_S },
      { name: 'nodejs.eventloop.delay.p99', value: delay.percentile(99) / NS_PER_S },
      { name: 'nodejs.eventloop.delay.max', value: delay.max / NS_PER_S },
    ];
    delay.reset();
    return readings;
  }
  return { source, stop: () => void delay.disable() };
}

const BYTES_PER_KB = 1024;

/**
 * Returns the resident memory of another process in bytes; undefined when the system does not report it (other than Linux)
 * or the process has ended.
 */
export async function residentBytes(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * BYTES_PER_KB;
}

/** Returns the metrics of the disk with a data directory. Free is what this user may write: some systems reserve a part for root. */
export async function diskReadings(dataDir: string): Promise<Reading[]> {
  const { bavail, blocks, bsize } = await statfs(dataDir);
  return [
    { name: 'spanscore.disk.free', value: bavail * bsize },
    { name: 'spanscore.disk.limit', value: blocks * bsize },
  ];
}
