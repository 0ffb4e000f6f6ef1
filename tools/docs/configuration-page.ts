import { configJsonSchema } from '../../src/configuration.ts';
import { type JsonSchemaNode } from '../../src/config/json-schema.ts';
import { schemaKeys, type SchemaKey } from './config-keys.ts';
import { CONFIGURATION_EXAMPLES } from './configuration-examples.ts';

const INTRODUCTION = `# Configuration

\`spanscore init\` writes a commented file, \`spanscore check-config\` finds every fault in one, and
\`spanscore config print --resolved\` prints each value with its origin. Without a file, all keys have their defaults.

\`\`\`yaml
# spanscore.config.yaml
rules:
  - name: production
    scorers: [behaviour, no-tool-errors]
    where: { environment: production }
    sample: { rate: 0.2, always: [error] }
\`\`\`

- **Files.** The file is \`spanscore.config.yaml\` (or \`.yml\`, \`.json\`, \`.ts\`, \`.mts\`, \`.js\`, \`.mjs\`) in the working directory. \`--config\`
  or \`SPANSCORE_CONFIG\` names another file. A module exports \`defineConfig({ … })\` from \`spanscore/config\` as its default. Relative
  paths start from the folder of the file.
- **Precedence.** Later values replace earlier ones: defaults, the file, \`SPANSCORE_…\` variables, flags (\`--set store.database=x\`).
- **Variables.** Each key has a variable, unless its path contains a list or a name: \`store.dataDir\` is \`SPANSCORE_STORE_DATA_DIR\`.
  \`SPANSCORE_JUDGE\` sets \`judges.default\`, and adds \`grounding\` to the default rule.
- **References.** \`\${env:NAME}\` and \`\${env:NAME:-default}\` are replaced by the value of a variable, anywhere in the file, and
  \`\${file:/run/secrets/NAME}\` by the text of a file: a secret of Docker or Kubernetes, or a credential of systemd. A variable without a
  value and without a default is a fault, and so is a file that is empty or cannot be read.
- **Units.** A duration is a whole number and a unit: \`500ms\`, \`5s\`, \`15m\`, \`24h\`, \`30d\`. A size is a whole number of bytes. If the table
  says "size", it is a number and a unit: \`256MiB\`. Money is in USD.
- **Faults.** Unknown keys are refused, never ignored. All faults are printed at once, with file, line and column; the exit code is 78.
  \`spanscore check-config --json\` prints them as \`{ "ok": false, "issues": [{ file, line, column, path, message }] }\`.
- **Editors.** \`schemas/json/config.schema.json\` of the package is the JSON Schema of the file. This page is made from it.

In the tables, \`[]\` is an entry of a list, and \`<name>\` is a name of your choice. A required key is required only if its group is in
the file.
`;

/** Writes docs/configuration.md from the schema. */
export function configurationPage(): string {
  const parts = Object.entries(configJsonSchema().properties ?? {}).filter(([name]) => name !== '$schema');
  return INTRODUCTION + parts.map(([name, node]) => partSection(name, node)).join('');
}

function partSection(name: string, node: JsonSchemaNode): string {
  const rows = joinAlternatives([
    ...(node.properties !== undefined ? [] : [{ path: name, node, isRequired: false }]),
    ...schemaKeys(node, name),
  ]).filter(({ node: { properties }, path }) => properties === undefined && !path.endsWith('$schema'));
  return `
## ${name}

${String(node['description'])}

\`\`\`yaml
${CONFIGURATION_EXAMPLES[name]}
\`\`\`

| key | value | default | meaning |
| --- | --- | --- | --- |
${rows.map((key) => formatRow(key)).join('')}`;
}

interface PageKey extends SchemaKey {
  /** Text after the meaning. */
  readonly note?: string;
}

/** Joins a key that several alternatives have with the same meaning into one row. */
function joinAlternatives(keys: readonly SchemaKey[]): PageKey[] {
  const all = new Set(keys.flatMap(({ alternative }) => alternative ?? []));
  const groups = Map.groupBy(keys, ({ path, node }) =>
    [path, node['description'], node['default']].join(' '),
  );
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined) {
      return [];
    }
    const choices = [first, ...others].flatMap(({ alternative }) => alternative ?? []);
    const isOfAll = choices.length === 0 || choices.length === all.size || first.node['const'] !== undefined;
    return [isOfAll ? first : { ...first, note: ` Only with ${choices.join(', ')}.` }];
  });
}

function formatRow({ path, node, isRequired, note = '' }: PageKey): string {
  const cells = [
    `\`${path}\``,
    valueText(node),
    isRequired && node['default'] === undefined ? '**required**' : defaultText(node),
    `${String(node['description'])}${note}`,
  ];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
}

function defaultText(node: JsonSchemaNode): string {
  const value = node['default'];
  return value === undefined || value === '' ? '' : `\`${plain(value)}\``;
}

function valueText(node: JsonSchemaNode): string {
  const alternatives = node.anyOf ?? node.oneOf;
  if (alternatives !== undefined) {
    return [...new Set(alternatives.map((one) => valueText(one)))].join(' or ');
  }
  const choices = (node['enum'] as unknown[] | undefined) ?? ('const' in node ? [node['const']] : undefined);
  if (choices !== undefined) {
    return choices.map((choice) => `\`${plain(choice)}\``).join(', ');
  }
  if (node.type === 'array') {
    return Array.isArray(node['prefixItems'])
      ? `list of ${node['prefixItems'].length} numbers`
      : `list of ${node.items === undefined ? 'values' : valueText(node.items)}`;
  }
  if (node.type === 'object') {
    return typeof node.additionalProperties === 'object' && node.properties === undefined
      ? `names with ${valueText(node.additionalProperties)}`
      : 'group';
  }
  if (node.type === 'boolean') {
    return '`true`, `false`';
  }
  if (node.type === 'null') {
    return '`null`';
  }
  const isNumber = node.type === 'number' || node.type === 'integer';
  return isNumber ? `number${rangeText(node)}, ${plain(node['unit'])}` : textValue(node);
}

function textValue(node: JsonSchemaNode): string {
  const [example] = (node['examples'] as unknown[] | undefined) ?? [];
  const kind = node.type === undefined ? 'any value' : plain(node['unit'] ?? 'text');
  return example === undefined || Boolean(node['default']) ? kind : `${kind}, like \`${plain(example)}\``;
}

function rangeText({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonSchemaNode): string {
  const least = minimum ?? exclusiveMinimum;
  const most = [maximum, exclusiveMaximum].find(
    (bound) => typeof bound === 'number' && bound < Number.MAX_SAFE_INTEGER,
  );
  const words = [
    typeof least === 'number' && least > Number.MIN_SAFE_INTEGER
      ? `${minimum === undefined ? 'above' : 'from'} ${least}`
      : '',
    most === undefined ? '' : `${maximum === most ? 'to' : 'below'} ${plain(most)}`,
  ].filter((word) => word !== '');
  return words.length === 0 ? '' : ` ${words.join(' ')}`;
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value).replaceAll('"', '').replaceAll(',', ', ');
}
