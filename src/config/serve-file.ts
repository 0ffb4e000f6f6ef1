import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

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
  const text = readIfThere(join(dataDir, NAME));
  const parsed = serveFileSchema.safeParse(text === undefined ? undefined : parseJson(text));
  return parsed.success && isAlive(parsed.data.pid) ? parsed.data : undefined;
}

/** Removes the address file at a clean stop, unless another process has written its own file since. */
export function removeServeFile(dataDir: string, pid: number): void {
  const text = readIfThere(join(dataDir, NAME));
  const parsed = serveFileSchema.safeParse(text === undefined ? undefined : parseJson(text));
  if (parsed.success && parsed.data.pid === pid) {
    rmSync(join(dataDir, NAME), { force: true });
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) {
      return undefined;
    }
    throw error;
  }
}

/** Returns undefined for a half-written file of a crashed writer. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
