import type { JudgeModelObject } from '../model-call.ts';

/** Address, key and transport of a provider. */
export interface ProviderAccess {
  /** Name of its entry in the configuration. */
  readonly name: string;
  readonly baseURL: string;
  readonly apiKey: string | undefined;
  readonly fetch: typeof globalThis.fetch;
}

/** Kind of provider: a package of the AI SDK, which writes and reads its wire format. */
export interface ProviderKind {
  /** Name of the kind. An entry of this name, or with this address, is of the kind. */
  readonly name: string;
  /** The provider's own address. Absent: each entry needs a `baseURL`. */
  readonly baseURL?: string;
  /** Variable with the key, which is sent to the provider's own address alone. */
  readonly keyVariable?: string;
  /** Loads the package, and opens a model. */
  openModel(id: string, access: ProviderAccess): Promise<JudgeModelObject>;
}
