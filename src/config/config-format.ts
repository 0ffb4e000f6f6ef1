import type { z } from 'zod';
import { createConfigJsonSchema, type JsonSchemaNode, settablePaths } from './json-schema.ts';
import { createConfigSchema, type ParsedConfig } from './schema.ts';
import type { Components } from './schema/components.ts';

/** Format of a configuration: the components that it has sections for, and its schemas. */
export interface ConfigFormat {
  readonly components: Components;
  readonly schema: z.ZodType<ParsedConfig>;
  /** Created at the first use. */
  readonly jsonSchema: () => JsonSchemaNode;
  /** Paths of all single values under fixed keys: a variable or a flag can set them. */
  readonly settablePaths: () => string[][];
}

/** Creates the format of configurations with sections for these components. */
export function createConfigFormat(components: Components): ConfigFormat {
  // The types of the components are not known here: code of this room reads their options by `readOptions`.
  const schema = createConfigSchema(components) as unknown as z.ZodType<ParsedConfig>;
  let created: JsonSchemaNode | undefined;
  const jsonSchema = () => (created ??= createConfigJsonSchema(schema));
  return { components, schema, jsonSchema, settablePaths: () => settablePaths(jsonSchema()) };
}
