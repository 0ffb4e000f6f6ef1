/** Kind of judge provider: a package of the AI SDK, which writes and reads the wire format. All kinds are opened in the same way. */
export interface JudgeKind {
  readonly name: string;
  /** Package on npm, and a range of versions that fits. */
  readonly package: string;
  readonly range: string;
  /** Export of the package that creates a provider from settings; undefined: the first one that does. */
  readonly create: string | undefined;
  /** Address that the package asks without a `baseURL`; undefined when it is made of other settings, or when each entry needs one. */
  readonly baseURL?: string;
  /** Hosts of the provider itself, with their subdomains. A key from the environment goes to no other host. */
  readonly hosts: readonly string[];
  /** Variable with the key, for kinds with one key. */
  readonly keyVariable?: string;
  readonly keys: readonly string[];
  /** True for a package with a batch interface. */
  readonly hasBatch?: true;
  /** True for a package that spanscore depends on. */
  readonly isBuiltIn?: true;
}

const API_KEY = ['apiKey'];

/** Kinds of judge providers by name, each a package of the AI SDK with its name. A new kind is one entry. */
const KINDS = listKinds([
  {
    name: 'openai',
    range: '^4',
    create: 'createOpenAI',
    baseURL: 'https://api.openai.com/v1',
    hosts: ['api.openai.com'],
    keyVariable: 'OPENAI_API_KEY',
    hasBatch: true,
    isBuiltIn: true,
  },
  { name: 'openai-compatible', range: '^3', create: 'createOpenAICompatible', hosts: [], isBuiltIn: true },
  {
    name: 'anthropic',
    range: '^4',
    create: 'createAnthropic',
    baseURL: 'https://api.anthropic.com/v1',
    hosts: ['api.anthropic.com'],
    keyVariable: 'ANTHROPIC_API_KEY',
    keys: ['apiKey', 'authToken'],
    hasBatch: true,
  },
  {
    name: 'google',
    range: '^4',
    create: 'createGoogle',
    baseURL: 'https://generativelanguage.googleapis.com/v1beta',
    hosts: ['googleapis.com'],
    keyVariable: 'GOOGLE_GENERATIVE_AI_API_KEY',
    hasBatch: true,
  },
  {
    name: 'google-vertex',
    range: '^5',
    create: 'createGoogleVertex',
    hosts: ['googleapis.com'],
    keys: ['apiKey', 'googleAuthOptions'],
  },
  {
    name: 'amazon-bedrock',
    range: '^5',
    create: 'createAmazonBedrock',
    hosts: ['amazonaws.com', 'amazonaws.com.cn'],
    keys: ['apiKey', 'accessKeyId', 'secretAccessKey', 'sessionToken'],
  },
  {
    name: 'azure',
    range: '^4',
    create: 'createAzure',
    hosts: ['openai.azure.com', 'services.ai.azure.com', 'cognitiveservices.azure.com'],
    keyVariable: 'AZURE_API_KEY',
  },
  {
    name: 'mistral',
    range: '^4',
    create: 'createMistral',
    baseURL: 'https://api.mistral.ai/v1',
    hosts: ['mistral.ai'],
    keyVariable: 'MISTRAL_API_KEY',
  },
  {
    name: 'groq',
    range: '^4',
    create: 'createGroq',
    baseURL: 'https://api.groq.com/openai/v1',
    hosts: ['groq.com'],
    keyVariable: 'GROQ_API_KEY',
  },
  {
    name: 'xai',
    range: '^5',
    create: 'createXai',
    baseURL: 'https://api.x.ai/v1',
    hosts: ['x.ai'],
    keyVariable: 'XAI_API_KEY',
  },
  {
    name: 'cohere',
    range: '^4',
    create: 'createCohere',
    baseURL: 'https://api.cohere.com/v2',
    hosts: ['cohere.com', 'cohere.ai'],
    keyVariable: 'COHERE_API_KEY',
  },
  {
    name: 'deepseek',
    range: '^3',
    create: 'createDeepSeek',
    baseURL: 'https://api.deepseek.com',
    hosts: ['deepseek.com'],
    keyVariable: 'DEEPSEEK_API_KEY',
  },
  {
    name: 'togetherai',
    range: '^3',
    create: 'createTogetherAI',
    baseURL: 'https://api.together.xyz/v1/',
    hosts: ['together.xyz', 'together.ai'],
    keyVariable: 'TOGETHER_API_KEY',
  },
  {
    name: 'fireworks',
    range: '^3',
    create: 'createFireworks',
    baseURL: 'https://api.fireworks.ai/inference/v1',
    hosts: ['fireworks.ai'],
    keyVariable: 'FIREWORKS_API_KEY',
  },
  {
    name: 'typesafe-ai',
    range: '^3',
    create: 'createTypeSafeAi',
    baseURL: 'https://api.typesafe.ai/v1',
    hosts: ['typesafe.ai'],
    keyVariable: 'TYPESAFE_AI_API_KEY',
  },
]);

function listKinds(
  kinds: readonly (Omit<JudgeKind, 'package' | 'keys'> & Partial<Pick<JudgeKind, 'keys'>>)[],
): readonly JudgeKind[] {
  return kinds.map((kind) => ({ package: `@ai-sdk/${kind.name}`, keys: API_KEY, ...kind }));
}

/** Any server with OpenAI's chat completions API. */
export const OPENAI_COMPATIBLE: JudgeKind = KINDS[1] as JudgeKind;

/** Kind with the built-in package that speaks the Decisions API, at any address. */
export const OPENAI: JudgeKind = KINDS[0] as JudgeKind;

/** Kinds whose models decide: they answer typed questions with probabilities, and write no text. */
const DECIDING_KINDS: readonly string[] = ['typesafe-ai'];

/** Decision models of OpenAI. */
const DECIDING_MODELS = /^gpt-6-luna(?:-\d{4}-\d{2}-\d{2})?$/;

export interface JudgeChoices {
  readonly providers?: Readonly<Record<string, JudgeKindChoice>> | undefined;
  readonly options?: Readonly<Record<string, { readonly decision?: boolean | undefined }>> | undefined;
}

/** True for a judge `provider/model` that answers typed questions with probabilities, and no chat. */
export function isDecisionJudge(judge: string, { providers = {}, options = {} }: JudgeChoices): boolean {
  const slash = judge.indexOf('/');
  const provider = judge.slice(0, Math.max(0, slash));
  const kind = judgeKindOf(provider, Object.hasOwn(providers, provider) ? providers[provider] : undefined);
  const own = Object.hasOwn(options, judge) ? options[judge]?.decision : undefined;
  const isKnown =
    DECIDING_KINDS.includes(kind?.name ?? '') ||
    (kind === OPENAI && DECIDING_MODELS.test(judge.slice(slash + 1)));
  return own ?? isKnown;
}

/** Says what is wrong about the judge of a scorer: none where it needs one, or one that writes no text. Undefined where it fits. */
export function findJudgeFault(
  name: string,
  scorer: { readonly needsJudge: boolean; readonly canDecide?: boolean } | undefined,
  judge: string | undefined,
  choices: JudgeChoices,
): string | undefined {
  if (scorer?.needsJudge !== true) {
    return undefined;
  }
  if (judge === undefined) {
    return `${name} needs a judge: set judges.default (or SPANSCORE_JUDGE) to provider/model`;
  }
  return scorer.canDecide !== true && isDecisionJudge(judge, choices)
    ? `${name} needs a chat judge: ${judge} is a decision judge, which writes no text`
    : undefined;
}

/** Names of the kinds, the commonest first. */
export const JUDGE_KIND_NAMES: readonly string[] = KINDS.map((kind) => kind.name);

/** Settings of an entry that name its kind, its address and its keys. */
export interface JudgeKindChoice {
  readonly use?: string | undefined;
  readonly package?: string | undefined;
  readonly export?: string | undefined;
  readonly baseURL?: string | undefined;
  /** Batch setting: true makes batches; `openai`: through OpenAI's batch API. Absent: when the package of the kind has a batch interface. */
  readonly batch?: boolean | 'openai' | undefined;
}

/**
 * Finds the kind of a provider's entry: `use`, `package`, or the name of the entry. An entry named `openai` at another address, and
 * an entry whose name is no kind, are `openai-compatible`. Returns undefined for an unknown `use`.
 */
export function judgeKindOf(name: string, entry: JudgeKindChoice = {}): JudgeKind | undefined {
  const { use, package: own, baseURL } = entry;
  if (own !== undefined) {
    return { name: own, package: own, range: '', create: entry.export, hosts: [], keys: API_KEY };
  }
  if (use !== undefined) {
    return KINDS.find((kind) => kind.name === use);
  }
  const kind = KINDS.find((each) => each.name === name);
  const isElsewhere = kind?.name === 'openai' && baseURL !== undefined && !isOwnHost(kind, baseURL);
  return kind === undefined || isElsewhere ? OPENAI_COMPATIBLE : kind;
}

/** True for a provider whose questions can go into batches. */
export function takesBatches(name: string, entry: JudgeKindChoice = {}): boolean {
  const { batch } = entry;
  return batch === undefined ? judgeKindOf(name, entry)?.hasBatch === true : batch !== false;
}

/** True for an address of the provider itself. */
export function isOwnHost({ hosts }: JudgeKind, address: string): boolean {
  const host = URL.parse(address)?.hostname ?? '';
  return hosts.some((own) => host === own || host.endsWith(`.${own}`));
}

/** Writes what to do about a package that is missing. */
export function missingPackage(provider: string, { package: name, range }: JudgeKind): string {
  return `judge provider ${provider} needs the package ${name}: npm install ${name}${range === '' ? '' : `@${range}`}`;
}
