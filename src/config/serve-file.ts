import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { hasCode } from '../domain/errors.ts';
import { parseJson } from '../domain/unknown-values.ts';
import { readIfThere } from './data-folder.ts';

const serveFileSchema = z.object({
  pid: z.number().int().positive(),
  otlpHttp: z.string().nullable(),
  otlpGrpc: z.string().nullable(),
  api: z.string().nullable(),
  clickhouse: z.object({
    url: z.string(),
    username: z.string(),
    password: z.string(),
    database: z.string(),
  }),
  /** Address and secret of the local reload. Absent for a process that cannot reload. */
  reload: z.object({ url: z.string(), secret: z.string() }).optional(),
});

/** Addresses of a running `serve` and its store, for local commands. */
export type ServeFile = z.infer<typeof serveFileSchema>;

const NAME = 'serve.json';

/** Writes the address file when `serve` is ready. Only the owner can read it, because it holds the store's password. */
export function writeServeFile(dataDir: string, content: ServeFile): void {
  mkdirSync(dataDir, { recursive: true });
  const temporary = join(dataDir, `${NAME}.${randomUUID()}`);
  writeFileSync(temporary, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, join(dataDir, NAME));
}

/** Reads the address file of a running `serve`. Returns undefined when there is no file or its process has ended. */
export function readServeFile(dataDir: string): ServeFile | undefined {
  const file = readContent(dataDir);
  return file !== undefined && isAlive(file.pid) ? file : undefined;
}

/** Removes the address file at a clean stop, unless another process has written its own file since. */
export function removeServeFile(dataDir: string, pid: number): void {
  if (readContent(dataDir)?.pid === pid) {
    rmSync(join(dataDir, NAME), { force: true });
  }
}

/** Reads the file; undefined also for a half-written file of a crashed writer. */
function readContent(dataDir: string): ServeFile | undefined {
  return serveFileSchema.safeParse(parseJson(readIfThere(join(dataDir, NAME)) ?? '')).data;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}
