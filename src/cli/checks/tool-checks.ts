import { findReader } from '../../config/access.ts';
import type { Config } from '../../configuration.ts';
import { readServeFile } from '../../config/serve-file.ts';
import { findCause, NotFoundError, readErrorMessage } from '../../domain/errors.ts';
import type { SourceReader } from '../../sources/source.ts';
import { createReader } from '../../sources/start-sources.ts';
import { connectStore, openConnectedStore } from '../../store/connection/connect-store.ts';
import type { EngineFiles } from '../../store/foreign/engine-files.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../../telemetry/log.ts';
import { isRecord } from '../../domain/unknown-values.ts';
import { type CheckResult, failed, ok, warning } from './doctor-checks.ts';

/** Longest time of one check, milliseconds. */
const LIMIT_MS = 10_000;

/** Asks each source for its first spans, and the running serve for the faults of its exporters. Stores nothing. */
export async function checkTools(config: Config, log: Log): Promise<CheckResult[]> {
  const engine = openEngineFiles(config, log);
  const sources = Object.entries(config.sources).map(([name, source]) =>
    checkSource(name, createReader(source, engine), `fix sources.${name}: its address, its key or its path`),
  );
  const checks = await Promise.all(sources);
  await engine.close();
  return [...checks, ...(await checkExporters(config))];
}

/** Connects to the store when a source needs its engine. Reads the first line of a file alone. */
function openEngineFiles(config: Config, log: Log): EngineFiles & { close(): Promise<void> } {
  let opened: Promise<{ store: Store; close: () => Promise<void> }> | undefined;
  const open = async () => {
    const connection = await connectStore(config, log, { command: 'doctor', existing: true });
    try {
      const store = await openConnectedStore(connection, log, { existing: true });
      return { store, close: () => store.close().then(() => connection.release()) };
    } catch (error) {
      await connection.release();
      throw error;
    }
  };
  const files = async () => (await (opened ??= open())).store.engineFiles;
  return {
    list: async (place) => (await files()).list(place),
    read: async (place, from) => (await files()).read(place, from, 1),
    close: async () => (await opened?.catch(() => undefined))?.close(),
  };
}

async function checkSource(name: string, reader: SourceReader, fix: string): Promise<CheckResult> {
  const check = `source ${name}`;
  const pieces = reader.pull(new Map(), AbortSignal.timeout(LIMIT_MS));
  const first = pieces[Symbol.asyncIterator]();
  try {
    await first.next();
    return ok(check, 'can be read');
  } catch (error) {
    return findCause(error, NotFoundError) === null
      ? failed(check, readErrorMessage(error), fix)
      : ok(check, 'is read by the store, which serve creates when it first starts');
  } finally {
    await first.return?.();
  }
}

/** Without a serve, or without a token of all tenants, nothing is known of the exporters. */
async function checkExporters({ store, auth }: Config): Promise<CheckResult[]> {
  const api = readServeFile(store.dataDir)?.api;
  const token = findReader(auth.tokens)?.token;
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const signal = AbortSignal.timeout(LIMIT_MS);
  const reply =
    typeof api === 'string'
      ? await fetch(`${api}/api/v1/status`, { headers, signal }).catch(() => undefined)
      : undefined;
  const status: unknown = reply?.ok === true ? await reply.json() : {};
  const exporters = isRecord(status) && Array.isArray(status['exporters']) ? status['exporters'] : [];
  return exporters.filter(isRecord).map(checkExporter);
}

function checkExporter({ name, lastError, deadLetters }: Readonly<Record<string, unknown>>): CheckResult {
  const check = `exporter ${String(name)}`;
  if (typeof lastError === 'string') {
    const fix = `fix exporters.${String(name)}: its address or its key; a trace that the tool does not know must be sent there, too`;
    return failed(check, lastError, fix);
  }
  if (typeof deadLetters === 'number' && deadLetters > 0) {
    const fix = 'spanscore dlq list has the reasons, and spanscore dlq replay sends them again';
    return warning(check, `gave up ${deadLetters} scores`, fix);
  }
  return ok(check, 'delivers');
}
