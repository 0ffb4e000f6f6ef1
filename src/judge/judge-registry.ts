import { isOwnNetwork } from '../config/addresses/private-addresses.ts';
import { exchange, type Reply } from '../delivery/http/proxies.ts';
import {
  isDecisionJudge,
  type JudgeKindChoice,
  JUDGE_KIND_NAMES,
  judgeKindOf,
  OPENAI_COMPATIBLE,
} from '../domain/judge-kinds.ts';
import { nearest } from '../domain/nearest.ts';
import type { PriceTable } from '../domain/money/model-prices.ts';
import { brokenReply } from './faults.ts';
import { JudgeError } from './judge-error.ts';
import { JudgeWindow } from './judge-window.ts';
import { type BreakerState, CircuitBreaker, ProviderGate } from './limits.ts';
import { type AnyModelObject, type BatchApi, isDecisionModel } from './model-call.ts';
import { openBatch, openDecisionModels, openModels, type ProviderEntry } from './provider-package.ts';

/** Entry of a provider: its kind, its limits, and settings of its package, which get them as they are. */
interface JudgeProviderConfig extends JudgeKindChoice {
  readonly [setting: string]: unknown;
  /** `responses` or `chat`. */
  readonly api?: string | undefined;
  /** Settings of the package of an entry with `package`. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
  /** Most calls at the same time. Default 16. */
  readonly concurrency?: number | undefined;
  readonly requestsPerMinute?: number | undefined;
  readonly tokensPerMinute?: number | undefined;
}

/** Settings of the calls to one judge. */
interface JudgeOptions {
  /** Total time of one question, without its waits for the provider's limits. */
  readonly timeoutMs?: number | undefined;
  /** Most tokens of one reply, thoughts included. */
  readonly maxOutputTokens?: number | undefined;
  /** Tokens that the model reads and writes in one call. */
  readonly contextTokens?: number | undefined;
  /** Replaces the temperature of the questions. */
  readonly temperature?: number | undefined;
  /** Effort of thinking, in the words of the AI SDK. */
  readonly reasoning?: string | undefined;
  /** True for a model that answers typed questions with probabilities. Absent: by its kind and name. */
  readonly decision?: boolean | undefined;
}

/** Limits of judge calls with their defaults; tests and the serving side may set other values. */
export interface JudgeLimits {
  readonly maxReplyBytes: number;
  /** Total time of one question, without its waits for the provider's limits. */
  readonly timeoutMs: number;
  /** Repeats of one call after 429, 5xx and network faults. */
  readonly maxRetries: number;
  readonly firstRetryMs: number;
  /** Longest wait before a repeat; after a longer `Retry-After` the caller gets the error. */
  readonly maxRetryWaitMs: number;
  readonly maxQueued: number;
  readonly maxQueueWaitMs: number;
  readonly breakerFailures: number;
  readonly breakerOpenMs: number;
}

const DEFAULT_LIMITS: JudgeLimits = {
  maxReplyBytes: 4 * 1024 * 1024,
  timeoutMs: 90_000,
  maxRetries: 2,
  firstRetryMs: 500,
  maxRetryWaitMs: 10_000,
  maxQueued: 10_000,
  maxQueueWaitMs: 30_000,
  breakerFailures: 8,
  breakerOpenMs: 30_000,
};

/** Time limit of a question to a model on this machine or in a private network: it may be slow, and have one slot. */
const LOCAL_TIMEOUT_MS = 5 * 60_000;

/** Most calls at the same time to a provider without a configured number; and the first number for a provider that is no known cloud. */
export const MOST_CALLS = 16;
const FIRST_CALLS = 2;

export interface JudgeRegistryDeps {
  /** Sends a request; default `exchange`. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Reply>;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Random number in [0, 1). */
  readonly random: () => number;
}

export interface JudgesConfig {
  readonly providers?: Readonly<Record<string, JudgeProviderConfig>> | undefined;
  /** By `provider/model`. */
  readonly options?: Readonly<Record<string, JudgeOptions>> | undefined;
  readonly prices?: PriceTable | undefined;
  /** `provider/model` for scorers that name no judge. */
  readonly default?: string | undefined;
  readonly limits?: Partial<JudgeLimits> | undefined;
  /** Folder in whose `node_modules` packages of providers are looked for, beside those of spanscore. */
  readonly packagesFrom?: string | undefined;
}

/** A judge with its model, price and limits. */
export interface ResolvedJudge {
  readonly model: AnyModelObject;
  /** `provider/model` as configured. */
  readonly name: string;
  readonly provider: string;
  readonly options: JudgeOptions;
  /** Total time of one question, milliseconds, without its waits for the provider's limits. */
  readonly timeoutMs: number;
  /** Absent for model objects: the program that made the object limits its calls. */
  readonly gate?: ProviderGate;
  readonly breaker?: CircuitBreaker;
  /** Absent for model objects: the program that made the object knows its window. */
  readonly window?: JudgeWindow;
}

export interface JudgeRegistry {
  readonly defaultModel: string | undefined;
  readonly prices: PriceTable;
  readonly limits: JudgeLimits;
  readonly deps: JudgeRegistryDeps;
  /**
   * Throws `judge_misconfigured`, or `judge_unauthorised` when there is no key. `step` is the name of the scorer step that
   * asks.
   */
  resolve(model: string | AnyModelObject, step?: string): Promise<ResolvedJudge>;
  /** True for a judge that answers typed questions, and writes no text. */
  isDecision(model: string | AnyModelObject): boolean;
  /** Opens the batch interface of a judge's provider. Throws as `resolve` does. */
  openBatch(model: string): Promise<BatchApi>;
  windowOf(model: string): JudgeWindow;
  /** Returns the state of the breaker of a judge's provider; `closed` before the first call. */
  breakerOf(model: string): BreakerState;
  /** Opened providers by their settings: the registry that follows this one shares them, with their limits and their breakers. */
  readonly opened: Map<string, Provider>;
}

type Provider = Required<Pick<ResolvedJudge, 'gate' | 'breaker' | 'timeoutMs'>> & {
  model(id: string, isDecision: boolean): Promise<AnyModelObject>;
  openBatch(): Promise<BatchApi>;
};

/** Creates the registry of judge providers by name. The provider `openai` needs no configuration. */
export function createJudgeRegistry(
  config: JudgesConfig = {},
  deps: JudgeRegistryDeps = {
    fetch: exchange,
    now: Date.now,
    random: Math.random,
  },
  opened = new Map<string, Provider>(),
): JudgeRegistry {
  const limits: JudgeLimits = { ...DEFAULT_LIMITS, ...config.limits };
  const { options = {} } = config;
  const providers = new Map<string, Provider>();
  const windows = new Map<string, JudgeWindow>();
  const share = createSharing(opened, (entry) => openProvider(entry, config, limits, deps));

  function findProvider(name: string, modelName: string): Provider {
    const provider = providers.get(name) ?? share(readProvider(name, modelName, config));
    providers.set(name, provider);
    return provider;
  }

  const isDecision = (model: string): boolean => isDecisionJudge(model, config);

  function findWindow(model: string): JudgeWindow {
    const { baseURL = '' } = config.providers?.[model.split('/', 1)[0] ?? ''] ?? {};
    const isOwn = isLocal(baseURL) && !isDecision(model);
    const { contextTokens } = options[model] ?? {};
    const window = windows.get(model) ?? new JudgeWindow(model, { contextTokens, isOwn });
    windows.set(model, window);
    return window;
  }

  return {
    defaultModel: config.default,
    prices: config.prices ?? {},
    limits,
    deps,
    async resolve(model) {
      if (typeof model !== 'string') {
        const { provider, modelId } = model;
        const { timeoutMs } = limits;
        return { model, name: `${provider}/${modelId}`, provider, options: {}, timeoutMs };
      }
      const { provider: name, modelId } = splitModelName(model);
      const provider = findProvider(name, model);
      const own = (Object.hasOwn(options, model) ? options[model] : undefined) ?? {};
      return {
        model: await provider.model(modelId, isDecision(model)),
        name: model,
        provider: name,
        options: own,
        timeoutMs: own.timeoutMs ?? provider.timeoutMs,
        gate: provider.gate,
        breaker: provider.breaker,
        window: findWindow(model),
      };
    },
    isDecision: (model) => (typeof model === 'string' ? isDecision(model) : isDecisionModel(model)),
    openBatch: async (model) => findProvider(splitModelName(model).provider, model).openBatch(),
    windowOf: findWindow,
    breakerOf: (model) => providers.get(model.split('/', 1)[0] ?? '')?.breaker.state() ?? 'closed',
    opened,
  };
}

type Entry = ReturnType<typeof readProvider>;

/** Finds the provider that was opened with the same settings, with its limits and its breaker. Else opens it. */
function createSharing(opened: Map<string, Provider>, open: (entry: Entry) => Provider) {
  return (entry: Entry): Provider => {
    const { kind, ...settings } = entry;
    const key = JSON.stringify([kind.name, settings]);
    const provider = opened.get(key) ?? open(entry);
    opened.set(key, provider);
    return provider;
  };
}

function splitModelName(name: string): { provider: string; modelId: string } {
  const slash = name.indexOf('/');
  if (slash < 1 || slash === name.length - 1) {
    throw new JudgeError(
      'judge_misconfigured',
      `"${name}" is no judge model: write provider/model, e.g. openai/gpt-5-mini`,
    );
  }
  return { provider: name.slice(0, slash), modelId: name.slice(slash + 1) };
}

/** Reads the entry of a provider. Throws as `JudgeRegistry.resolve` does. */
function readProvider(
  name: string,
  modelName: string,
  { providers = {}, packagesFrom }: JudgesConfig,
): Omit<ProviderEntry, 'fetch'> & { readonly limits: JudgeProviderConfig } {
  const entry: JudgeProviderConfig = (Object.hasOwn(providers, name) ? providers[name] : undefined) ?? {};
  const { use, package: _, export: _export, api, settings = {}, baseURL: own, ...rest } = entry;
  const kind = judgeKindOf(name, entry);
  if (kind === undefined) {
    const meant = nearest(use ?? '', JUDGE_KIND_NAMES);
    throw new JudgeError(
      'judge_misconfigured',
      `judges.providers.${name}.use: there is no kind "${use}"${meant === undefined ? '' : `; did you mean ${meant}?`}`,
    );
  }
  const baseURL = own ?? kind.baseURL;
  if (baseURL === undefined && kind === OPENAI_COMPATIBLE) {
    const known = [...new Set([...JUDGE_KIND_NAMES, ...Object.keys(providers)])].join(', ');
    throw new JudgeError(
      'judge_misconfigured',
      `unknown judge provider "${name}" in "${modelName}": known are ${known}; set judges.providers.${name}.baseURL`,
    );
  }
  const { concurrency: _c, requestsPerMinute: _r, tokensPerMinute: _t, batch: _b, ...ofPackage } = rest;
  return { name, kind, baseURL, api, settings: { ...ofPackage, ...settings }, packagesFrom, limits: entry };
}

function openProvider(
  { limits: settings, ...entry }: Entry,
  { limits: own }: JudgesConfig,
  limits: JudgeLimits,
  deps: JudgeRegistryDeps,
): Provider {
  const { baseURL = '' } = entry;
  const guarded = { ...entry, fetch: createGuardedFetch(limits, deps) };
  const [openChat, openDecision] = [openModels(guarded), openDecisionModels(guarded)];
  const models = new Map<string, Promise<AnyModelObject>>();
  const timeoutMs = isLocal(baseURL) ? (own?.timeoutMs ?? LOCAL_TIMEOUT_MS) : limits.timeoutMs;
  return {
    timeoutMs,
    gate: new ProviderGate(
      {
        concurrency: settings.concurrency ?? MOST_CALLS,
        startsAt:
          settings.concurrency === undefined && baseURL !== '' && !isCloud(baseURL) ? FIRST_CALLS : undefined,
        requestsPerMinute: settings.requestsPerMinute,
        tokensPerMinute: settings.tokensPerMinute,
        maxQueued: limits.maxQueued,
        // A queue before a slow server moves as slowly as the server.
        maxWaitMs: own?.maxQueueWaitMs ?? Math.max(limits.maxQueueWaitMs, timeoutMs / 2),
      },
      deps,
    ),
    breaker: new CircuitBreaker({ failures: limits.breakerFailures, openMs: limits.breakerOpenMs }, deps),
    model(id, isDecision) {
      // A model builds the schemas of its replies, which takes as long as a call.
      const key = `${isDecision ? 'decision' : 'chat'} ${id}`;
      const model = models.get(key) ?? (isDecision ? openDecision(id) : openChat(id));
      models.set(key, model);
      return model;
    },
    openBatch: () =>
      openBatch({ ...entry, fetch: createGuardedFetch({ maxReplyBytes: MAX_BATCH_REPLY_BYTES }, deps) }),
  };
}

/** Largest reply of a batch interface, bytes: the results of all requests of a batch. */
const MAX_BATCH_REPLY_BYTES = 128 * 1024 * 1024;

/** Statuses of replies that have no body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Creates a `fetch` that follows no redirect (the key and the prompt would go to another server). It reads the reply whole, and ends one
 * that is too large after decompression. The deadline of the whole call comes from its abort signal.
 */
function createGuardedFetch(
  { maxReplyBytes }: Pick<JudgeLimits, 'maxReplyBytes'>,
  deps: JudgeRegistryDeps,
): typeof globalThis.fetch {
  return async (input, init) => {
    const { body, status, statusText, headers } = await deps.fetch(input, { ...init, redirect: 'manual' });
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    try {
      for await (const chunk of body ?? []) {
        bytes += chunk.byteLength;
        if (bytes > maxReplyBytes) {
          throw new JudgeError('judge_malformed', `the judge's reply is larger than ${maxReplyBytes} bytes`);
        }
        chunks.push(chunk);
      }
    } catch (error) {
      if (error instanceof JudgeError || init?.signal?.aborted === true) {
        throw error;
      }
      // Of a refusal, its status and what came of its words are enough.
      if (status === 200) {
        throw brokenReply(error);
      }
    }
    const whole = BODILESS.has(status) ? null : Buffer.concat(chunks);
    return new Response(whole, { status, statusText, headers });
  };
}

/** Hosts of providers with many places, and their subdomains. */
const CLOUDS: readonly string[] = [
  'openai.com',
  'openai.azure.com',
  'services.ai.azure.com',
  'anthropic.com',
  'googleapis.com',
  'amazonaws.com',
  'groq.com',
  'mistral.ai',
  'openrouter.ai',
  'together.xyz',
  'together.ai',
  'fireworks.ai',
  'deepseek.com',
  'x.ai',
  'cohere.com',
  'cohere.ai',
  'typesafe.ai',
  'deepinfra.com',
  'cerebras.ai',
  'nvidia.com',
  'huggingface.co',
  'cloudflare.com',
  'vercel.sh',
];

/** True for the address of a known cloud: it takes many calls at the same time. */
function isCloud(baseURL: string): boolean {
  const host = URL.parse(baseURL)?.hostname ?? '';
  return CLOUDS.some((cloud) => host === cloud || host.endsWith(`.${cloud}`));
}

/** True for an address of this machine or of a private network: a model there may be slow. */
function isLocal(baseURL: string): boolean {
  const url = URL.parse(baseURL);
  return url !== null && isOwnNetwork(url.hostname);
}

let registry = createJudgeRegistry();

/** Sets the providers, prices and limits of every question that is asked outside a judge scope with its own registry. */
export function configureJudges(config: JudgesConfig, deps?: JudgeRegistryDeps): void {
  registry = createJudgeRegistry(config, deps);
}

/** Returns the registry that `configureJudges` made. */
export function configuredJudges(): JudgeRegistry {
  return registry;
}
