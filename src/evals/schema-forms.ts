/** Result of a Standard Schema's validation. */
type StandardResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

/** A schema of any library that follows standardschema.dev, with a JSON form where the library can write one. */
export interface StandardSchema<T> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): StandardResult<T> | Promise<StandardResult<T>>;
    readonly jsonSchema?: { input(options: { readonly target: 'draft-2020-12' }): Record<string, unknown> };
  };
}

/** A schema of the AI SDK. Replies are checked against its JSON Schema, because its own check may be asynchronous. */
export interface SdkSchema<T> {
  /** Used for its type only. */
  readonly _type: T;
  readonly jsonSchema: object | PromiseLike<object>;
}
