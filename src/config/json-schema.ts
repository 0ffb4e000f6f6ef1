import { z } from 'zod';
import type { KeyPath } from './key-path.ts';
import { configSchema } from './schema.ts';
import { monitorTestFileSchema } from './schema/monitor-tests.ts';
import { monitorFileSchema } from './schema/monitors.ts';

/** The parts of a JSON Schema that this folder looks at. */
export interface JsonSchemaNode {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchemaNode>>;
  readonly additionalProperties?: boolean | JsonSchemaNode;
  readonly items?: JsonSchemaNode;
  readonly anyOf?: readonly JsonSchemaNode[];
  readonly oneOf?: readonly JsonSchemaNode[];
  readonly writeOnly?: boolean;
  readonly [key: string]: unknown;
}

let cached: JsonSchemaNode | undefined;

/** The configuration as JSON Schema (draft 2020-12), for editors; generated from the Zod schema. */
export function configJsonSchema(): JsonSchemaNode {
  return (cached ??= { ...toJsonSchema(configSchema), title: 'spanscore configuration' });
}

let cachedMonitorFile: JsonSchemaNode | undefined;
let cachedMonitorTestFile: JsonSchemaNode | undefined;

/** A monitor file as JSON Schema, as `configJsonSchema`. */
export function monitorFileJsonSchema(): JsonSchemaNode {
  return (cachedMonitorFile ??= { ...toJsonSchema(monitorFileSchema), title: 'spanscore monitors' });
}

/** A file of expectations of monitors as JSON Schema, as `configJsonSchema`. */
export function monitorTestFileJsonSchema(): JsonSchemaNode {
  return (cachedMonitorTestFile ??= {
    ...toJsonSchema(monitorTestFileSchema),
    title: 'tests of spanscore monitors',
  });
}

/** JSON Schema of the input that a schema accepts. */
export function toJsonSchema(schema: z.ZodType): JsonSchemaNode {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchemaNode;
}

/** The schema nodes that may describe the value at a path; more than one where there are alternatives. */
export function schemaNodesAt(path: KeyPath, root: JsonSchemaNode): JsonSchemaNode[] {
  let nodes = listAlternatives([root]);
  for (const step of path) {
    nodes = listAlternatives(nodes.flatMap((node) => listChildren(node, step)));
  }
  return nodes;
}

/** The keys that are known in the object at a path; none where any key may stand. */
export function knownKeysAt(path: KeyPath, root = configJsonSchema()): string[] {
  return [...new Set(schemaNodesAt(path, root).flatMap((node) => Object.keys(node.properties ?? {})))];
}

/** A value that may stand at a path, where the schema names one. */
export function exampleAt(path: KeyPath, root: JsonSchemaNode): unknown {
  for (const node of schemaNodesAt(path, root)) {
    const [example] = [node['examples'], node['enum']].flatMap((list) =>
      Array.isArray(list) ? (list as unknown[]) : [],
    );
    if (example !== undefined) {
      return example;
    }
  }
  return undefined;
}

/** True when the value at a path is never to be shown. */
export function isSecretPath(path: KeyPath): boolean {
  return schemaNodesAt(path, configJsonSchema()).some((node) => node.writeOnly === true);
}

/** The paths of all single values that stand under fixed keys, which are those that a variable or a flag can set. */
export function settablePaths(): string[][] {
  const walk = (node: JsonSchemaNode, path: string[]): string[][] =>
    node.properties === undefined
      ? ['string', 'number', 'integer', 'boolean'].includes(node.type ?? '')
        ? [path]
        : []
      : Object.entries(node.properties).flatMap(([key, child]) => walk(child, [...path, key]));
  return walk(configJsonSchema(), []).filter((path) => path[0] !== '$schema');
}

function listAlternatives(nodes: JsonSchemaNode[]): JsonSchemaNode[] {
  return nodes.flatMap((node) => {
    const alternatives = node.anyOf ?? node.oneOf;
    return alternatives === undefined ? [node] : listAlternatives([...alternatives]);
  });
}

function listChildren(node: JsonSchemaNode, step: string | number): JsonSchemaNode[] {
  if (typeof step === 'number') {
    return node.items === undefined ? [] : [node.items];
  }
  const child = Object.hasOwn(node.properties ?? {}, step)
    ? node.properties?.[step]
    : node.additionalProperties;
  return typeof child === 'object' ? [child] : [];
}

/** The text of a file of `schemas/json/`. */
export function jsonSchemaText(schema: JsonSchemaNode): string {
  return `${JSON.stringify(schema, null, 2)}\n`;
}
