import { createConfigFormat } from './config-format.ts';
import type { KnownScorer } from './default-rule.ts';
import type { JsonSchemaNode } from './json-schema.ts';
import { loadConfig, type LoadConfigOptions, type LoadedConfig, parseConfig } from './load-config.ts';
import type { Config, ConfigInput, ConfigSchema } from './schema.ts';
import type { Components } from './schema/components.ts';

/** Reads configurations that have sections for some components. */
export interface ConfigReader<Listed extends Components> {
  readonly schema: ConfigSchema<Listed>;
  /** Returns the JSON Schema (draft 2020-12) of the configuration, for editors. */
  jsonSchema(): JsonSchemaNode;
  /**
   * Loads the configuration: defaults < file < SPANSCORE_… variables < flags, checked as a whole. Throws a `ConfigError` that
   * lists every fault.
   */
  loadConfig(options?: LoadConfigOptions<Config<Listed>>): Promise<LoadedConfig<Config<Listed>>>;
  /** Checks a configuration given as a value, as `defineConfig` returns it. Throws a `ConfigError`. */
  parseConfig(input: ConfigInput<Listed>, options?: ParseConfigOptions): Config<Listed>;
}

export interface ParseConfigOptions {
  /** Base folder of relative paths. Default: the working directory. */
  readonly cwd?: string;
  /** Existing scorers; undefined: names are not checked. */
  readonly scorers?: readonly KnownScorer[];
}

/** Creates the reader of configurations with sections for these components. */
export function createConfigReader<const Listed extends Components>(
  components: Listed,
): ConfigReader<Listed> {
  const format = createConfigFormat(components);
  const reader = {
    schema: format.schema,
    jsonSchema: format.jsonSchema,
    loadConfig: async (options?: LoadConfigOptions) => loadConfig(format, options),
    parseConfig: (input: object, options?: ParseConfigOptions) => parseConfig(format, input, options),
  };
  // The schema adds the sections of the components to each configuration; the types of this room know only the other keys.
  return reader as unknown as ConfigReader<Listed>;
}
