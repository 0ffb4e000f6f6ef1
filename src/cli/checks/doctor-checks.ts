import { createServer } from 'node:net';
import { parseEndpoint, type Config, type LoadedConfig } from '../../configuration.ts';
import { readEnvironment } from '../../config/environment.ts';
import {
  type ExporterSection,
  listEndpoints,
  readOptions,
  type ReceiverSection,
} from '../../config/schema/components.ts';
import { readServeFile } from '../../config/serve-file.ts';
import { ConfigError, readErrorMessage, NotFoundError } from '../../domain/errors.ts';
import type { Log } from '../../telemetry/log.ts';
import { redactText } from '../../telemetry/redact-fields.ts';
import { connectStore, openConnectedStore, readSchemaStatus } from '../../store/connection/connect-store.ts';
import { refuseNode } from '../node-version.ts';
import type { AheadRows, UnknownWord } from '../../store/contracts/lists.ts';
import type { Store } from '../../store/store.ts';
import { judgesInUse } from '../../config/checks/judge-checks.ts';
import type { JudgeExecution } from '../../judge/judge-execution.ts';
import { findPackage } from '../../config/judge-packages.ts';
import {
  isDecisionJudge,
  isOwnHost,
  judgeKindOf,
  missingPackage,
  OPENAI_COMPATIBLE,
} from '../../domain/judge-kinds.ts';
import { showUsd } from '../../domain/money/usd.ts';
import { PREBUILT_SCORERS } from '../../components.ts';

/** Result of one check, with the next step when it failed. */
export interface CheckResult {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'failed';
  readonly detail: string;
  readonly fix?: string;
}

export const ok = (check: string, detail: string): CheckResult => ({ check, status: 'ok', detail });
export const failed = (check: string, detail: string, fix: string): CheckResult => ({
  check,
  status: 'failed',
  detail,
  fix,
});
export const warning = (check: string, detail: string, fix?: string): CheckResult => ({
  check,
  status: 'warning',
  detail,
  ...(fix === undefined ? {} : { fix }),
});

/** Findings about one judge, a line of `doctor --judge --json`. */
interface JudgeProbe {
  /** `provider/model`. */
  readonly judge: string;
  readonly kind: string;
  readonly ok: boolean;
  /** Time of both questions. */
  readonly ms: number;
  /** Model that answered; null without an answer. */
  readonly model: string | null;
  readonly type: 'chat' | 'decision';
  /** Way in which the judge is told the form of its reply. */
  readonly structured: 'schema' | 'json' | 'prompt';
  /** False for a model that refuses a temperature. */
  readonly temperature: boolean;
  readonly error: string | null;
}

/** Check of a judge, with what its line says. */
export interface ProbedJudge {
  readonly check: CheckResult;
  readonly probe: JudgeProbe;
}

export interface DoctorDeps {
  readonly log: Log;
  readonly fetch: typeof globalThis.fetch;
}

/** Check of a configuration without a judge. */
export const NO_JUDGE = ok('judge', 'no judge is configured; to set one: SPANSCORE_JUDGE=openai/gpt-5-mini');

const JUDGE_LIMIT_MS = 10_000;
/** Clock difference in milliseconds above which ages and dashboards are misleading. */
const MAX_SKEW_MS = 5000;

export function checkNode(version: string): CheckResult {
  const refusal = refuseNode(version);
  return refusal === undefined ? ok('node', version) : failed('node', `${version} is too old`, refusal);
}

export function checkConfigFile(loaded: LoadedConfig): CheckResult {
  const rules = loaded.config.rules.map((rule) => rule.name).join(', ');
  const detail = `${loaded.file ?? 'no file: default values apply'}; rules: ${rules === '' ? 'none' : rules}`;
  return loaded.warnings.length === 0
    ? ok('configuration', detail)
    : warning('configuration', [detail, ...loaded.warnings].join('; '));
}

/** Checks only that the engine is installed; the check of the store shows that it works. */
export function checkEngine(config: Config): CheckResult {
  if (config.store.url !== undefined) {
    return ok('engine', 'not needed: store.url names a server');
  }
  try {
    import.meta.resolve('chdb');
    return ok('engine', 'the embedded engine (chdb) is installed');
  } catch {
    const fix = 'npm install chdb, or set store.url to a ClickHouse server';
    return failed('engine', 'the embedded engine (chdb) is not installed', fix);
  }
}

export async function checkPorts(
  config: Config,
  receivers: readonly ReceiverSection[],
): Promise<CheckResult[]> {
  const serve = readServeFile(config.store.dataDir);
  return Promise.all(
    listEndpoints(config, receivers).map(async ({ path, endpoint: text }): Promise<CheckResult> => {
      const key = `${path.join('.')}.endpoint`;
      const check = `port ${text}`;
      const fault = await listenFault(text);
      if (fault === undefined) {
        return ok(check, 'free');
      }
      return serve === undefined
        ? failed(check, fault, `stop the process that uses it, or set ${key}`)
        : ok(check, `used by the running serve (pid ${serve.pid})`);
    }),
  );
}

async function listenFault(text: string): Promise<string | undefined> {
  const { host, port } = parseEndpoint(text);
  const server = createServer();
  const done = Promise.withResolvers<string | undefined>();
  server.once('error', (error) => done.resolve(error.message));
  server.listen(port, host, () => server.close(() => done.resolve(undefined)));
  return done.promise;
}

/**
 * Checks that the store is reachable, its schema is known and its clock is right. A missing store is fine and is not
 * created.
 */
export async function checkStore(config: Config, deps: DoctorDeps): Promise<CheckResult[]> {
  let connection: Awaited<ReturnType<typeof connectStore>> | undefined;
  try {
    connection = await connectStore(config, deps.log, { command: 'doctor', existing: true });
    const status = await readSchemaStatus(connection);
    if (status.fault !== undefined) {
      return [failed('store', status.fault, 'read the message')];
    }
    const isComplete = status.state === 'current';
    const tables = isComplete
      ? 'all tables'
      : 'not all tables; spanscore serve or spanscore migrate creates them';
    const found = ok('store', `${connection.kind}, database ${status.database} has ${tables}`);
    if (!isComplete) {
      return [found];
    }
    const store = await openConnectedStore(connection, deps.log);
    try {
      return [
        found,
        ...(await checkSpans(config, store)),
        await checkClock(store),
        ...(await store.aheadRows()).map(describeAhead),
      ];
    } finally {
      await store.close();
    }
  } catch (error) {
    if (error instanceof NotFoundError) {
      return [ok('store', `a store in ${config.store.dataDir} is created when serve first starts`)];
    }
    const isSaid = config.store.url === undefined || error instanceof ConfigError;
    const fix = isSaid ? 'read the message' : 'check store.url, username and password';
    return [failed('store', redactText(readErrorMessage(error)), fix)];
  } finally {
    await connection?.release();
  }
}

async function checkSpans(config: Config, store: Store): Promise<CheckResult[]> {
  if (config.store.spans === undefined) {
    return [];
  }
  try {
    const found = ok('spans', await store.describeSource());
    return [found, ...describeUnknown(await store.unknownWords(), config.store.spans.table)];
  } catch (error) {
    const fix = 'read the message; the key store.spans names the tables';
    return [failed('spans', redactText(readErrorMessage(error)), fix)];
  }
}

async function checkClock(store: Store): Promise<CheckResult> {
  const askedMs = Date.now();
  const storeMs = await store.spans.nowMs();
  return checkSkew(storeMs, { askedMs, answeredMs: Date.now() });
}

/** Describes words for the status and the kind of spans that are read as unset. */
export function describeUnknown(words: readonly UnknownWord[], table: string): CheckResult[] {
  return [...Map.groupBy(words, ({ column }) => column)].map(([column, found]) =>
    warning(
      `${column} of ${table}`,
      `unknown words, which count as unset: ${found.map(({ word, rows }) => `${word} (${rows} rows)`).join(', ')}`,
      `write the words of the OpenTelemetry Collector's ClickHouse exporter, as ${column === 'StatusCode' ? 'Error' : 'Client'}, or name a view that translates them in store.spans.table`,
    ),
  );
}

/** Describes rows from before the store's clock went back. */
export function describeAhead({ table, rows, aheadMs }: AheadRows): CheckResult {
  return warning(
    `stamps of ${table}`,
    `${rows} rows are up to ${Math.round(aheadMs / 60_000)} min ahead of the store's clock, which went back; they count as written before now`,
    "keep the clock of the store's machine in step with NTP",
  );
}

/**
 * Computes the clock difference. The store read its clock at some time between the question and the answer, so a slow
 * answer counts as no difference.
 */
export function checkSkew(storeMs: number, here: { askedMs: number; answeredMs: number }): CheckResult {
  const nearestMs = Math.min(Math.max(storeMs, here.askedMs), here.answeredMs);
  const skewMs = Math.round(nearestMs - storeMs);
  const detail = `this machine is ${Math.abs(skewMs)} ms ${skewMs < 0 ? 'behind' : 'ahead of'} the store`;
  return Math.abs(skewMs) <= MAX_SKEW_MS
    ? ok('clock', detail)
    : warning('clock', detail, 'synchronise the clocks of both machines with NTP');
}

/** Looks for the package of the default judge's provider. Asks a provider of OpenAI's API for its list of models, which is free. */
export async function checkJudge(config: Config, deps: DoctorDeps): Promise<CheckResult> {
  const { default: model, providers, packagesFrom } = config.judges;
  if (model === undefined) {
    return NO_JUDGE;
  }
  const name = model.split('/')[0] ?? '';
  const entry = providers[name];
  const kind = judgeKindOf(name, entry) ?? OPENAI_COMPATIBLE;
  const check = `judge ${model}`;
  const baseURL = entry?.baseURL ?? kind.baseURL;
  if (kind.isBuiltIn === true && baseURL !== undefined) {
    const variable = isOwnHost(kind, baseURL) ? kind.keyVariable : undefined;
    const key = entry?.apiKey ?? (variable === undefined ? undefined : readEnvironment(variable));
    const authorization = key === undefined ? {} : { authorization: `Bearer ${key}` };
    return askForModels({ check, name, baseURL }, { ...entry?.headers, ...authorization }, deps);
  }
  return findPackage(kind.package, packagesFrom) === undefined
    ? failed(check, `${kind.package} is missing`, missingPackage(name, kind))
    : ok(check, `${kind.package} is installed; spanscore doctor --judge asks the judge`);
}

async function askForModels(
  { check, name, baseURL }: { readonly check: string; readonly name: string; readonly baseURL: string },
  headers: Readonly<Record<string, string>>,
  { fetch }: DoctorDeps,
): Promise<CheckResult> {
  try {
    const answer = await fetch(`${baseURL.replace(/\/+$/, '')}/models`, {
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(JUDGE_LIMIT_MS),
    });
    await answer.body?.cancel();
    if (answer.status === 401 || answer.status === 403) {
      const fix = `set judges.providers.${name}.apiKey`;
      return failed(check, `${baseURL} refuses the key (${answer.status})`, fix);
    }
    return answer.ok
      ? ok(check, `${baseURL} answers`)
      : warning(check, `${baseURL}/models answers ${answer.status}`);
  } catch (error) {
    const detail = redactText(`${baseURL} is not reachable: ${readErrorMessage(error)}`);
    return failed(check, detail, `check judges.providers.${name}.baseURL`);
  }
}

/** Finds exporters that send to the receiver of this process. Variables of OpenTelemetry SDKs do not count: no part reads them. */
export function checkLoops(config: Config, exporters: readonly ExporterSection[]): CheckResult {
  const own = parseEndpoint(config.receivers.otlp.http.endpoint);
  const looping = exporters.flatMap((exporter) => {
    const options = readOptions(config.exporters, exporter.name);
    const target = options === undefined ? undefined : exporter.readOtlpUrl?.(options);
    return target !== undefined && pointsAt(target.url, own)
      ? [`exporters.${exporter.name}.${target.key}`]
      : [];
  });
  return looping.length === 0
    ? ok('loops', 'no exporter sends to the receiver of spanscore itself')
    : warning(
        'loops',
        `${looping.join(' and ')} sends to the receiver of spanscore itself (${config.receivers.otlp.http.endpoint})`,
        'use the address of another backend; only agents may use this address',
      );
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

/** Time limit of one judge call, milliseconds. */
const LIMIT_MS = 60_000;

/** Claims with what shows whether they hold. */
const KNOWN = [
  { claim: '18 °C', evidence: { tempC: 18 }, verdict: 'yes' },
  { claim: 'snow', evidence: { sky: 'rain' }, verdict: 'no' },
] as const;

const VERDICT = {
  type: 'object',
  properties: { verdict: { type: 'string', enum: ['yes', 'no'] } },
  required: ['verdict'],
  additionalProperties: false,
};

/**
 * Asks two questions whose answers are known to each judge that a rule uses and to the default judge, as scorers ask. Each call costs a
 * few tokens.
 */
export async function probeJudges(config: Config): Promise<ProbedJudge[]> {
  const { default: byDefault } = config.judges;
  const names = new Set([
    ...judgesInUse(config, PREBUILT_SCORERS),
    ...(byDefault === undefined ? [] : [byDefault]),
  ]);
  return Promise.all([...names].map(async (name) => probe(name, config)));
}

/** Asks a judge about one claim, in words or as a decision. */
async function askAbout(
  judge: string,
  { claim, evidence, verdict: known }: (typeof KNOWN)[number],
  isDecision: boolean,
): Promise<{ value: { verdict: string }; execution: JudgeExecution }> {
  const settings = { maxRetries: 0, timeoutMs: LIMIT_MS, redaction: false };
  const task = 'Does the evidence support the claim?';
  if (!isDecision) {
    const { askForObject } = await import('../../judge/judge.ts');
    return askForObject<{ verdict: string }>(judge, {
      instructions: 'You judge claims by evidence.',
      prompt: JSON.stringify({ evidence, claim }),
      task: `${task} verdict: yes or no.`,
      schema: { jsonSchema: VERDICT },
      settings,
    });
  }
  const { askDecisions } = await import('../../judge/decisions.ts');
  const criteria = known === 'yes' ? { yes: null, no: null } : { no: null, yes: null };
  const { value, execution } = await askDecisions(judge, {
    state: [{ type: 'json', value: { evidence, claim } }],
    questions: { verdict: { type: 'choice', instructions: task, criteria } },
    settings,
  });
  const { verdict } = value;
  return {
    value: { verdict: verdict === undefined || verdict.refused === true ? 'none' : verdict.winner },
    execution,
  };
}

async function probe(name: string, config: Config): Promise<ProbedJudge> {
  const { acceptedSettings } = await import('../../judge/retry.ts');
  const { createConfiguredJudges } = await import('../../scoring/setup/scorer-kit.ts');
  const { withJudgeScope } = await import('../../judge/judge-scope.ts');
  const isDecision = isDecisionJudge(name, config.judges);
  const started = performance.now();
  const check = `judge ${name}`;
  const { model, finding } = await withJudgeScope({ judges: createConfiguredJudges(config) }, async () => {
    const [first, second] = KNOWN;
    const answers = [await askAbout(name, first, isDecision), await askAbout(name, second, isDecision)];
    return { model: answers[0]?.execution.judgeModelId ?? null, finding: readAnswers(check, answers) };
  }).catch((error: unknown) => ({
    model: null,
    finding: failed(check, redactText(readErrorMessage(error)), readFix(error, name)),
  }));
  const provider = name.split('/', 1)[0] ?? '';
  const isRight = finding.status === 'ok';
  return {
    check: finding,
    probe: {
      judge: name,
      kind: judgeKindOf(provider, config.judges.providers[provider])?.name ?? provider,
      ok: isRight,
      ms: Math.round(performance.now() - started),
      model,
      ...(isDecision
        ? { type: 'decision' as const, structured: 'schema' as const, temperature: false }
        : { type: 'chat' as const, ...acceptedSettings(name) }),
      error: isRight ? null : finding.detail,
    },
  };
}

function readAnswers(
  check: string,
  answers: readonly { value: { verdict: string }; execution: JudgeExecution }[],
): CheckResult {
  const right = answers.filter(({ value }, index) => value.verdict === KNOWN[index]?.verdict).length;
  const detail = redactText(describe(answers.map(({ execution }) => execution)));
  return right === KNOWN.length
    ? ok(check, `${detail}, ${right} of ${KNOWN.length} known answers right`)
    : failed(
        check,
        `answers in the right form but judges wrong: ${KNOWN.length - right} of ${KNOWN.length}; ${detail}`,
        'use a larger model: the scores of this one would mean nothing',
      );
}

function describe(executions: readonly JudgeExecution[]): string {
  const sum = (read: (execution: JudgeExecution) => number | undefined): number | undefined =>
    executions.reduce<number | undefined>((total, execution) => {
      const value = read(execution);
      return total === undefined || value === undefined ? undefined : total + value;
    }, 0);
  const tokens = executions.every(({ usage }) => usage === undefined)
    ? 'its replies have no token counts, so budgets use estimates'
    : `${sum(({ usage }) => usage?.inputTokens) ?? '?'} tokens in, ${sum(({ usage }) => usage?.outputTokens) ?? '?'} out`;
  const cost = sum((execution) => execution.cost);
  const price = cost === undefined ? 'no known price' : `${showUsd(cost)} USD`;
  const durationMs = Math.round(sum((execution) => execution.durationMs) ?? 0);
  return `model ${executions[0]?.judgeModelId} answered twice in ${durationMs} ms, ${tokens}, ${price}`;
}

function readFix(error: unknown, judge: string): string {
  const name = judge.split('/', 1)[0] ?? '';
  const provider = `judges.providers.${name}`;
  const variable = judgeKindOf(name)?.keyVariable;
  switch (error instanceof Error && 'code' in error ? error.code : '') {
    case 'judge_unauthorised':
      return `set ${provider}.apiKey${variable === undefined ? '' : ` (or ${variable})`}, and check that the account has credit`;
    case 'judge_rate_limited':
      return `wait, or set ${provider}.requestsPerMinute below what the provider allows`;
    case 'judge_misconfigured':
      return `check ${provider}.baseURL (for OpenAI's API it ends in /v1) and the name of the model`;
    case 'judge_window':
      return `give the model a larger window (Ollama: OLLAMA_CONTEXT_LENGTH or num_ctx; llama.cpp: -c), and set judges.options.${judge}.contextTokens to its size`;
    case 'judge_timeout':
      return `check whether the server at ${provider}.baseURL is overloaded or still loads the model`;
    case 'judge_malformed':
      return 'use a model that keeps to a JSON form: a scorer cannot use such replies';
    default:
      return `check ${provider}.baseURL, and that this server runs and speaks the API of its kind`;
  }
}
