import type { OfferedTool } from '../../domain/trace/agent-run.ts';
import { isRecord } from '../../domain/unknown-values.ts';
import { readText } from '../attributes.ts';
import { type Fields, field, firstField, parseIfText, parseStructure } from '../json.ts';
import type { SpanView } from '../normalised-span.ts';

/** Most tools of one run. */
const MAX_TOOLS = 256;
/** Deepest nesting of lists and wrappers around a definition. */
const MAX_WRAPPERS = 8;

/** Keys with the tools that a model was offered, alone or among the other parts of the request. */
const KEYS = [
  'gen_ai.tool.definitions',
  'gen_ai.request.available_tools',
  'ai.prompt.tools',
  'model_request_parameters',
  'llm.invocation_parameters',
  'gcp.vertex.agent.llm_request',
];

/** Names of the lists of tools inside a request, and of the wrappers around one definition. */
const LISTS = ['tools', 'function_tools', 'functions', 'functionDeclarations', 'function_declarations'];
const WRAPPERS = ['function', 'toolSpec', 'json_schema'];
const PARAMETERS = ['parameters', 'inputSchema', 'input_schema', 'parameters_json_schema', 'arguments'];

/** Lists the texts of a span that hold definitions of tools. They are parsed once a run, because each call repeats them. */
export function listToolTexts({ span, logs }: SpanView): string[] | undefined {
  const sources = [span, ...span.events, ...logs].map(({ attributes }) => attributes);
  const texts = sources.flatMap((source) => KEYS.flatMap((key) => readText(source, key) ?? []));
  const { attributes } = span;
  for (let at = 0; at < MAX_TOOLS; at++) {
    const schema = attributes.get(`llm.tools.${at}.tool.json_schema`);
    const name = attributes.get(`llm.request.functions.${at}.name`);
    if (schema !== undefined) {
      texts.push(schema);
    } else if (name !== undefined) {
      const [description, parameters, args] = ['description', 'parameters', 'arguments'].map((part) =>
        attributes.get(`llm.request.functions.${at}.${part}`),
      );
      texts.push(JSON.stringify({ name, description, parameters: parameters ?? args }));
    } else {
      break;
    }
  }
  return texts.length === 0 ? undefined : texts;
}

/** Reads the tools of texts, each name once: the first definition with parameters counts, else the first. */
export function readTools(texts: Iterable<string>): OfferedTool[] {
  const tools = new Map<string, OfferedTool>();
  for (const text of new Set(texts)) {
    for (const tool of listTools(parseStructure(text)?.value)) {
      const known = tools.get(tool.name);
      if (known === undefined || (known.parameters === undefined && tool.parameters !== undefined)) {
        tools.set(tool.name, { ...known, ...tool });
      }
    }
  }
  return [...tools.values()].slice(0, MAX_TOOLS);
}

function listTools(value: unknown, depth = 0): OfferedTool[] {
  if (depth > MAX_WRAPPERS) {
    return [];
  }
  if (Array.isArray(value)) {
    return (value as unknown[]).flatMap((item) => {
      const opened = parseIfText(item);
      return typeof opened === 'string' ? [{ name: opened }] : listTools(opened, depth + 1);
    });
  }
  if (!isRecord(value)) {
    return [];
  }
  const wrapped = WRAPPERS.map((name) => field(value, name)).find(isRecord);
  if (wrapped !== undefined) {
    return listTools(wrapped, depth + 1);
  }
  const lists = LISTS.map((name) => field(value, name)).filter(Array.isArray);
  if (lists.length > 0) {
    return lists.flatMap((list) => listTools(list, depth + 1));
  }
  const config = field(value, 'config');
  return isRecord(config) ? listTools(config, depth + 1) : readTool(value);
}

function readTool(value: Fields): OfferedTool[] {
  const name = field(value, 'name');
  if (typeof name !== 'string' || name === '') {
    return [];
  }
  const description = field(value, 'description');
  const given = parseIfText(firstField(value, ...PARAMETERS));
  const parameters = isRecord(given) ? (field(given, 'json') ?? field(given, 'jsonSchema') ?? given) : given;
  return [
    {
      name,
      ...(typeof description === 'string' && description !== '' ? { description } : {}),
      ...(parameters === undefined ? {} : { parameters }),
    },
  ];
}
