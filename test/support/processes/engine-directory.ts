import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ClickHouseLogLevel, createClient, type ClickHouseClient } from '@clickhouse/client';
import { afterEach, beforeEach } from 'vitest';
import {
  startEmbeddedEngine,
  type EmbeddedEngine,
  type EmbeddedEngineOptions,
} from '../../../src/store/embedded/engine.ts';

/** Address of an engine. */
export interface EngineAddress {
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

/** Process with its own process group that owns an engine. */
export interface OwnerProcess {
  readonly owner: ChildProcess;
  readonly address: EngineAddress & { readonly pid: number };
}

/**
 * Data directory of one test, and the engines and processes on it. After the test, all of them are ended and the directory
 * is removed.
 */
export class EngineDirectory {
  dataDir = '';
  #cleanups: (() => Promise<unknown>)[] = [];

  async begin(): Promise<void> {
    this.dataDir = await mkdtemp(join(tmpdir(), 'spanscore-life-'));
    const { dataDir } = this;
    // A killed process may still write for a moment, so the removal is retried.
    this.#cleanups = [
      () => rm(dataDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }),
      // The next start on a directory removes the spool of a killed engine. Here no start follows.
      async () => {
        await Promise.all((await this.spools()).map((path) => rm(path, { recursive: true })));
      },
    ];
  }

  /** Lists the spool folders of this directory's engine. Other engines may run at the same time. */
  async spools(): Promise<string[]> {
    const id = createHash('sha256').update(this.dataDir).digest('hex').slice(0, 16);
    const places = [
      ['/dev/shm', `spanscore-${id}-`],
      [this.dataDir, 'spool-'],
    ] as const;
    const found = places.map(async ([folder, prefix]) => {
      const names = await readdir(folder).catch(() => []);
      return names.filter((name) => name.startsWith(prefix)).map((name) => join(folder, name));
    });
    return (await Promise.all(found)).flat();
  }

  async end(): Promise<void> {
    for (const cleanup of this.#cleanups.reverse()) {
      await cleanup();
    }
  }

  /** Adds a step for the end of the test. The steps run in reverse order. */
  atEnd(cleanup: () => Promise<unknown>): void {
    this.#cleanups.push(cleanup);
  }

  /** Starts an engine in this process. */
  async start(options: Partial<EmbeddedEngineOptions> = {}): Promise<EmbeddedEngine> {
    const engine = await startEmbeddedEngine({ dataDir: this.dataDir, ...options });
    this.atEnd(() => engine.stop());
    return engine;
  }

  connect({ url, username, password }: EngineAddress, database = 'default'): ClickHouseClient {
    const client = createClient({
      url,
      username,
      password,
      database,
      log: { level: ClickHouseLogLevel.OFF },
    });
    this.atEnd(() => client.close());
    return client;
  }

  /** Starts a process that tries to own the directory. */
  spawnOwner(): { owner: ChildProcess; ended: Promise<unknown> } {
    const owner = spawn(process.execPath, ['test/support/processes/engine-owner.ts', this.dataDir], {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(owner, 'exit');
    this.atEnd(() => {
      killGroup(owner);
      return ended;
    });
    return { owner, ended };
  }

  /** Starts a process and waits until it owns the directory's engine. */
  async ownerProcess(): Promise<OwnerProcess> {
    const { owner, ended } = this.spawnOwner();
    const line = await firstLine(owner, ended);
    if (line === undefined) {
      throw new Error('the owner of an engine ended without printing an address');
    }
    return { owner, address: JSON.parse(line) as OwnerProcess['address'] };
  }
}

/** Reads the first line of standard output; undefined when the process ends without one. */
export async function firstLine(child: ChildProcess, ended: Promise<unknown>): Promise<string | undefined> {
  if (child.stdout === null) {
    throw new TypeError('the standard output of this process is not read');
  }
  const firstOutput = once(createInterface({ input: child.stdout }), 'line');
  const [line] = (await Promise.race([firstOutput, ended])) as [unknown];
  return typeof line === 'string' ? line : undefined;
}

/** Kills a process and the processes that it started. */
export function killGroup(owner: ChildProcess): void {
  try {
    process.kill(-(owner.pid ?? 0), 'SIGKILL');
  } catch {
    // The group has ended already.
  }
}

/** Creates a new directory for each test of a file. */
export function useEngineDirectory(): EngineDirectory {
  const lives = new EngineDirectory();
  beforeEach(() => lives.begin());
  afterEach(() => lives.end());
  return lives;
}

export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
