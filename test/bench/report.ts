/**
 * Runs the benches of speed one after the other, prints their tables and, at the end, the goals of each with the machine and the versions.
 * `node test/bench/report.ts [bench…]`: only the benches whose names are given.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { head, row } from './bench-table.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Benches with their arguments. The package is built first: `start` measures it. */
const BENCHES: readonly (readonly [name: string, ...args: readonly string[]])[] = [
  ['ingest', '3'],
  ['steady'],
  ['flood'],
  ['backfill'],
  ['backfill', '--traces', '20000', '--kills', '2'],
  ['start'],
  ['api-reads', '--traces', '100000'],
  ['scorers'],
  ['peers'],
];

function readVersion(name: string): string {
  const file = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  return `${name} ${(JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version}`;
}

interface Ended {
  readonly name: string;
  readonly load: string;
  readonly seconds: number;
  /** Last line with goals; else how the bench ended. */
  readonly goals: string;
}

async function run([bench, ...args]: (typeof BENCHES)[number]): Promise<Ended> {
  const name = [bench, ...args].join(' ');
  console.log(`\n# ${name}\n`);
  const load = loadavg()[0]?.toFixed(1) ?? '';
  const startedMs = performance.now();
  const child = spawn(process.execPath, [`test/bench/${bench}.ts`, ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    process.stdout.write(text);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  const told = /^\d+ of \d+ goals met.*$/mu.exec(output)?.[0] ?? 'no goals';
  return {
    name,
    load,
    seconds: (performance.now() - startedMs) / 1_000,
    goals: code === 0 ? told : `ended with ${code}`,
  };
}

const asked = process.argv.slice(2);
const ended: Ended[] = [];
for (const bench of BENCHES) {
  if (asked.length === 0 || asked.includes(bench[0])) {
    ended.push(await run(bench));
  }
}
const [cpu] = cpus();
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim();
head('Goals of all benches', 'bench', 'load before', 'seconds', 'goals');
ended.forEach(({ name, load, seconds, goals }) => row(name, load, seconds.toFixed(0), goals));
console.log(
  `\n${cpus().length} × ${cpu?.model ?? 'a processor'}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, ${platform()} ${release()} ${arch()}; Node.js ${process.version}, ${['chdb', 'kafkajs'].map(readVersion).join(', ')}; commit ${commit}`,
);
process.exitCode = ended.some(({ goals }) => goals.startsWith('ended')) ? 1 : 0;
