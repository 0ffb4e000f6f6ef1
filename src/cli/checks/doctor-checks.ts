import { createServer } from 'node:net';
import { parseEndpoint, type Config, type LoadedConfig } from '../../config/index.ts';
import { readEnvironment } from '../../config/environment.ts';
import { readServeFile } from '../../config/serve-file.ts';
import { readErrorMessage, NotFoundError } from '../../domain/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { redactText } from '../../telemetry/redact-fields.ts';
import { connectStore } from '../../app/connect-store.ts';
import { openConnectedStore, readSchemaStatus } from '../../app/open-store.ts';
import { refuseNode } from '../node-version.ts';
import type { Store } from '../../store/contracts/store.ts';

/** Result of one check, with the next step when it failed. */
export interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly detail: string;
  readonly fix?: string;
}

export interface DoctorDeps {
  readonly log: Log;
  readonly fetch: typeof globalThis.fetch;
}

const OPENAI_URL = 'https://api.openai.com/v1';
const JUDGE_LIMIT_MS = 10_000;
/** A clock that is further off than this makes ages and dashboards misleading. */
const MAX_SKEW_MS = 5000;

export function checkNode(version: string): Finding {
  const refusal = refuseNode(version);
  return refusal === undefined
    ? { check: 'node', status: 'ok', detail: version }
    : { check: 'node', status: 'failed', detail: `${version} is too old`, fix: refusal };
}

export function checkConfigFile(loaded: LoadedConfig): Finding {
  const rules = loaded.config.rules.map((rule) => rule.name).join(', ');
  const detail = `${loaded.file ?? 'no file: the defaults hold'}; rules: ${rules === '' ? 'none' : rules}`;
  const [warning] = loaded.warnings;
  return warning === undefined
    ? { check: 'configuration', status: 'ok', detail }
    : { check: 'configuration', status: 'warning', detail: `${detail}; ${loaded.warnings.join('; ')}` };
}

/** Only whether it is installed: the check of the store shows whether it works. */
export function checkEngine(config: Config): Finding {
  if (config.store.url !== undefined) {
    return { check: 'engine', status: 'ok', detail: 'not needed: store.url names a server' };
  }
  try {
    import.meta.resolve('chdb');
    return { check: 'engine', status: 'ok', detail: 'the embedded engine (chdb) is installed' };
  } catch {
    return {
      check: 'engine',
      status: 'failed',
      detail: 'the embedded engine (chdb) is not installed',
      fix: 'npm install chdb, or set store.url to a ClickHouse server',
    };
  }
}

export async function checkPorts(config: Config): Promise<Finding[]> {
  const serve = readServeFile(config.store.dataDir);
  const wanted = [
    ['receivers.otlp.http.endpoint', config.receivers.otlp.http.endpoint],
    ['receivers.otlp.grpc.endpoint', config.receivers.otlp.grpc.endpoint],
    ['api.endpoint', config.api.endpoint],
  ] as const;
  return Promise.all(
    wanted.map(async ([key, text]): Promise<Finding> => {
      const check = `port ${text}`;
      const fault = await listenFault(text);
      if (fault === undefined) {
        return { check, status: 'ok', detail: 'free' };
      }
      return serve === undefined
        ? { check, status: 'failed', detail: fault, fix: `stop what uses it, or set ${key}` }
        : { check, status: 'ok', detail: `used by the running serve (pid ${serve.pid})` };
    }),
  );
}

async function listenFault(text: string): Promise<string | undefined> {
  const { host, port } = parseEndpoint(text);
  const probe = createServer();
  const done = Promise.withResolvers<string | undefined>();
  probe.once('error', (error) => done.resolve(error.message));
  probe.listen(port, host, () => probe.close(() => done.resolve(undefined)));
  return done.promise;
}

/** Reachable, its schema known, its clock near ours. A store that is not there yet is fine, and is not made. */
export async function checkStore(config: Config, deps: DoctorDeps): Promise<Finding[]> {
  let connection: Awaited<ReturnType<typeof connectStore>> | undefined;
  try {
    connection = await connectStore(config, deps.log, { command: 'doctor', existing: true });
    const status = await readSchemaStatus(connection);
    const behind = status.current < status.known ? '; serve or spanscore migrate brings it up' : '';
    const found: Finding = {
      check: 'store',
      status: 'ok',
      detail: `${connection.kind}, database ${status.database} has schema version ${status.current} of ${status.known}${behind}`,
    };
    if (status.current < status.known) {
      return [found];
    }
    const store = await openConnectedStore(connection, deps.log);
    try {
      return [found, ...(await checkSpans(config, store)), await checkClock(store)];
    } finally {
      await store.close();
    }
  } catch (error) {
    if (error instanceof NotFoundError) {
      return [
        {
          check: 'store',
          status: 'ok',
          detail: `a store in ${config.store.dataDir} is made at the first start`,
        },
      ];
    }
    const fix = config.store.url === undefined ? 'see the message' : 'check store.url, username and password';
    return [{ check: 'store', status: 'failed', detail: redactText(readErrorMessage(error)), fix }];
  } finally {
    await connection?.release();
  }
}

/** Checks that the foreign span tables can be read. */
async function checkSpans(config: Config, store: Store): Promise<Finding[]> {
  if (config.store.spans === undefined) {
    return [];
  }
  try {
    return [{ check: 'spans', status: 'ok', detail: await store.describeSource() }];
  } catch (error) {
    const fix = 'see the message; store.spans names the tables';
    return [{ check: 'spans', status: 'failed', detail: redactText(readErrorMessage(error)), fix }];
  }
}

async function checkClock(store: Store): Promise<Finding> {
  const askedMs = Date.now();
  const storeMs = await store.spans.nowMs();
  return checkSkew(storeMs, { askedMs, answeredMs: Date.now() });
}

/** The store looked at its clock at some moment between the question and the answer: a slow answer is no skew. */
export function checkSkew(storeMs: number, here: { askedMs: number; answeredMs: number }): Finding {
  const nearestMs = Math.min(Math.max(storeMs, here.askedMs), here.answeredMs);
  const skewMs = Math.round(nearestMs - storeMs);
  const detail = `this machine is ${Math.abs(skewMs)} ms ${skewMs < 0 ? 'behind' : 'ahead of'} the store`;
  return Math.abs(skewMs) <= MAX_SKEW_MS
    ? { check: 'clock', status: 'ok', detail }
    : { check: 'clock', status: 'warning', detail, fix: 'set the clocks by NTP' };
}

/** One request for the list of models, which costs nothing. */
export async function checkJudge(config: Config, deps: DoctorDeps): Promise<Finding> {
  const model = config.judges.default;
  if (model === undefined) {
    return {
      check: 'judge',
      status: 'ok',
      detail: 'none is configured; to have one: SPANSCORE_JUDGE=openai/gpt-5-mini',
    };
  }
  const name = model.split('/')[0] ?? '';
  const provider = config.judges.providers[name];
  const baseURL = provider?.baseURL ?? OPENAI_URL;
  const key = provider?.apiKey ?? (name === 'openai' ? readEnvironment('OPENAI_API_KEY') : undefined);
  const check = `judge ${model}`;
  try {
    const answer = await deps.fetch(`${baseURL.replace(/\/+$/, '')}/models`, {
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(JUDGE_LIMIT_MS),
    });
    await answer.body?.cancel();
    if (answer.status === 401 || answer.status === 403) {
      const fix = `set judges.providers.${name}.apiKey`;
      return { check, status: 'failed', detail: `${baseURL} refuses the key (${answer.status})`, fix };
    }
    return answer.ok
      ? { check, status: 'ok', detail: `${baseURL} answers` }
      : { check, status: 'warning', detail: `${baseURL}/models answers ${answer.status}` };
  } catch (error) {
    const detail = redactText(`${baseURL} is not reachable: ${readErrorMessage(error)}`);
    return { check, status: 'failed', detail, fix: `check judges.providers.${name}.baseURL` };
  }
}

/** Telemetry that comes back to where it was made. */
export function checkLoops(config: Config): Finding {
  const own = parseEndpoint(config.receivers.otlp.http.endpoint);
  const targets = [
    ['OTEL_EXPORTER_OTLP_ENDPOINT', readEnvironment('OTEL_EXPORTER_OTLP_ENDPOINT')],
    ['exporters.otlp.endpoint', config.exporters.otlp?.endpoint],
  ] as const;
  const looping = targets.filter(([, url]) => url !== undefined && pointsAt(url, own)).map(([name]) => name);
  return looping.length === 0
    ? { check: 'loops', status: 'ok', detail: 'no telemetry of ours is sent to ourselves' }
    : {
        check: 'loops',
        status: 'warning',
        detail: `${looping.join(' and ')} points at our own receiver (${config.receivers.otlp.http.endpoint})`,
        fix: 'right for an agent, wrong for spanscore: start it without, or send its telemetry elsewhere',
      };
}

function pointsAt(url: string, own: { host: string; port: number }): boolean {
  if (!URL.canParse(url)) {
    return false;
  }
  const { hostname, port, protocol } = new URL(url);
  const loopback = ['localhost', '127.0.0.1', '[::1]', '0.0.0.0'];
  const sameHost = hostname === own.host || loopback.includes(hostname);
  return sameHost && Number(port || (protocol === 'https:' ? 443 : 80)) === own.port;
}
