import { pathToFileURL } from 'node:url';
import { readEnvironment } from '../config/environment.ts';
import { findPackage } from '../config/judge-packages.ts';
import {
  isOwnHost,
  type JudgeKind,
  missingPackage,
  OPENAI,
  OPENAI_COMPATIBLE,
} from '../domain/judge-kinds.ts';
import { isObject } from '../domain/unknown-values.ts';
import { JudgeError } from './judge-error.ts';
import type { BatchApi, DecisionModelObject, JudgeModelObject } from './model-call.ts';

/** Entry of a provider as its package sees it. */
export interface ProviderEntry {
  readonly name: string;
  readonly kind: JudgeKind;
  readonly baseURL: string | undefined;
  /** `responses` or `chat`, for packages that have both. */
  readonly api: string | undefined;
  /** Settings of the package, keys among them. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly fetch: typeof globalThis.fetch;
  /** Folder in whose `node_modules` packages are looked for, beside those of spanscore. */
  readonly packagesFrom: string | undefined;
}

/** Headers in which packages send keys, and signatures made with them. */
const KEY_HEADERS = [
  'authorization',
  'x-api-key',
  'api-key',
  'x-goog-api-key',
  'x-amz-security-token',
  'x-amz-date',
];

/** Key in place of one from the environment, for an address that must not get it. It is sent nowhere. */
const NO_KEY = 'none';

/** Opens the models of a provider. The package is loaded with the first one, so that a program which asks no judge loads none. */
function opener<Model>(
  entry: ProviderEntry,
  findOpen: (provider: Package) => unknown,
  what: string,
): (id: string) => Promise<Model> {
  let provider: Promise<Package> | undefined;
  return async (id) => {
    provider ??= createProvider(entry);
    const open = findOpen(await provider);
    if (typeof open !== 'function') {
      throw lacking(entry, what);
    }
    return open(id) as Model;
  };
}

function lacking({ name, kind }: ProviderEntry, what: string): JudgeError {
  return new JudgeError(
    'judge_misconfigured',
    `judge provider ${name}: the package ${kind.package} has no ${what}`,
  );
}

export function openModels(entry: ProviderEntry): (id: string) => Promise<JudgeModelObject> {
  const { api = entry.kind === OPENAI_COMPATIBLE ? 'chatModel' : 'languageModel' } = entry;
  return opener(entry, (provider) => provider[api], `api "${api}"`);
}

/** Returns the entry with the package that has decision models and batches: a server with OpenAI's API is asked through its package. */
function ofOpenAi(entry: ProviderEntry): ProviderEntry {
  return entry.kind === OPENAI_COMPATIBLE ? { ...entry, kind: OPENAI } : entry;
}

export function openDecisionModels(entry: ProviderEntry): (id: string) => Promise<DecisionModelObject> {
  return opener(
    ofOpenAi(entry),
    ({ decisionModel, evaluationModel }) => decisionModel ?? evaluationModel,
    'decision models',
  );
}

export async function openBatch(given: ProviderEntry): Promise<BatchApi> {
  const entry = ofOpenAi(given);
  const { experimental_batch: open } = await createProvider(entry);
  const api: unknown = typeof open === 'function' ? open() : undefined;
  if (!isObject(api) || typeof api['doListBatches'] !== 'function') {
    throw lacking(entry, 'batch interface');
  }
  return api as unknown as BatchApi;
}

/** Exports of a package, or members of the provider that it creates, by name. */
type Package = Readonly<Record<string, unknown>>;

async function createProvider(entry: ProviderEntry): Promise<Package> {
  const { kind, name } = entry;
  const loaded = await loadPackage(entry);
  const create = findCreate(kind, loaded);
  if (create === undefined) {
    const wanted = kind.create ?? 'that creates a provider of the AI SDK';
    throw new JudgeError(
      'judge_misconfigured',
      `judge provider ${name}: ${kind.package} has no export ${wanted}`,
    );
  }
  const created: unknown = create(buildSettings(entry));
  if (!isProvider(created)) {
    throw new JudgeError(
      'judge_misconfigured',
      `judge provider ${name}: ${kind.package} created no provider of the AI SDK`,
    );
  }
  return created;
}

async function loadPackage({ kind, name, packagesFrom }: ProviderEntry): Promise<Package> {
  const path = findPackage(kind.package, packagesFrom);
  if (path === undefined) {
    throw new JudgeError('judge_misconfigured', missingPackage(name, kind));
  }
  return (await import(pathToFileURL(path).href)) as Package;
}

type Create = (settings: object) => unknown;

function findCreate(kind: JudgeKind, loaded: Package): Create | undefined {
  const found =
    kind.create === undefined
      ? Object.entries(loaded).find(
          ([name, value]) => name.startsWith('create') && typeof value === 'function',
        )?.[1]
      : loaded[kind.create];
  return typeof found === 'function' ? (found as Create) : undefined;
}

function isProvider(created: unknown): created is Package {
  return (isObject(created) || typeof created === 'function') && 'languageModel' in (created as object);
}

function buildSettings(entry: ProviderEntry): object {
  const { kind, name, baseURL, settings } = entry;
  const hasKey = kind.keys.some((key) => settings[key] !== undefined);
  const isForeign = baseURL !== undefined && !isOwnHost(kind, baseURL);
  const [key = 'apiKey'] = kind.keys;
  return {
    name,
    // A server of one's own may take the schema; one that refuses it is asked without it from then on.
    ...(kind === OPENAI_COMPATIBLE ? { supportsStructuredOutputs: true } : {}),
    ...settings,
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(hasKey || !isForeign || kind === OPENAI_COMPATIBLE ? readKey(entry, hasKey) : { [key]: NO_KEY }),
    fetch: hasKey ? entry.fetch : keepKeys(entry),
  };
}

/** Reads the key from the environment, for a provider's own address. Throws when there is none. */
function readKey({ kind, name }: ProviderEntry, hasKey: boolean): object {
  if (hasKey || kind.keyVariable === undefined) {
    return {};
  }
  const apiKey = readEnvironment(kind.keyVariable);
  if (apiKey === undefined) {
    throw new JudgeError(
      'judge_unauthorised',
      `no key for judge provider "${name}": set ${kind.keyVariable} or judges.providers.${name}.apiKey`,
    );
  }
  return { apiKey };
}

/** Creates a `fetch` that sends keys from the environment to the provider's own hosts alone, whatever address the package takes. */
function keepKeys({ kind, settings, fetch }: ProviderEntry): typeof globalThis.fetch {
  const own = new Headers(
    isObject(settings['headers']) ? (settings['headers'] as Record<string, string>) : {},
  );
  return (input, init) => {
    const address = input instanceof Request ? input.url : String(input);
    if (isOwnHost(kind, address)) {
      return fetch(input, init);
    }
    const headers = new Headers(init?.headers);
    for (const header of KEY_HEADERS) {
      const value = own.get(header);
      if (value === null) {
        headers.delete(header);
      } else {
        headers.set(header, value);
      }
    }
    return fetch(input, { ...init, headers });
  };
}
