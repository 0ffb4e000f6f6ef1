import { z } from 'zod';
import type { KeyPath } from './key-path.ts';
import { monitorTestFileSchema, monitorFileSchema } from './schema/monitors.ts';

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

/** Returns the JSON Schema (draft 2020-12) of a configuration, for editors; generated from its Zod schema. */
export function createConfigJsonSchema(schema: z.ZodType): JsonSchemaNode {
  return { ...toJsonSchema(schema), title: 'spanscore configuration' };
}

export function monitorFileJsonSchema(): JsonSchemaNode {
  return { ...toJsonSchema(monitorFileSchema), title: 'spanscore monitors' };
}

export function monitorTestFileJsonSchema(): JsonSchemaNode {
  return { ...toJsonSchema(monitorTestFileSchema), title: 'tests of spanscore monitors' };
}

export function toJsonSchema(schema: z.ZodType): JsonSchemaNode {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchemaNode;
}

/** Returns the schema nodes that may describe the value at a path; several when there are alternatives. */
export function schemaNodesAt(path: KeyPath, root: JsonSchemaNode): JsonSchemaNode[] {
  let nodes = listAlternatives([root]);
  for (const step of path) {
    nodes = listAlternatives(nodes.flatMap((node) => listChildren(node, step)));
  }
  return nodes;
}

/** Returns the known keys of the object at a path; empty when any key is allowed. */
export function knownKeysAt(path: KeyPath, root: JsonSchemaNode): string[] {
  return [...new Set(schemaNodesAt(path, root).flatMap((node) => Object.keys(node.properties ?? {})))];
}

/** Returns a value allowed at a path, when the schema names one. */
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

/** True when the value at a path must never be shown. */
export function isSecretPath(path: KeyPath, root: JsonSchemaNode): boolean {
  return schemaNodesAt(path, root).some((node) => node.writeOnly === true);
}

/** Returns the paths of all single values under fixed keys: a variable or a flag can set them. */
export function settablePaths(root: JsonSchemaNode): string[][] {
  const walk = (node: JsonSchemaNode, path: string[]): string[][] =>
    node.properties === undefined
      ? ['string', 'number', 'integer', 'boolean'].includes(node.type ?? '')
        ? [path]
        : []
      : Object.entries(node.properties).flatMap(([key, child]) => walk(child, [...path, key]));
  return walk(root, []).filter((path) => path[0] !== '$schema');
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
