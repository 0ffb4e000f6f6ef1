import { type Fields, structureIn } from '../json.ts';
import { callPart, reasoningPart, textPart } from './part-reader.ts';
import type { NormalPart } from '../normalised-span.ts';
import { parsePythonRepr, REPR_TYPE } from '../python-repr.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Classes of the items of OpenAI's SDK for Python. */
const ITEM_CLASS = /^Response[A-Z]\w*\(/;
const DICTIONARY = /^\s*\{\s*'/;
/** LangChain's message of a tool, which Python prints without its class. */
const TOOL_MESSAGE = /^content=[^]* tool_call_id='/;

/**
 * Reads an item of the Responses API that Python printed as `ResponseFunctionToolCall(name='…', …)`. Undefined for any other
 * text, and for one that cannot be parsed.
 */
export function readPrintedItem(text: string): Fields | undefined {
  const item = ITEM_CLASS.test(text) ? withoutClasses(parsePythonRepr(text)) : undefined;
  return isRecord(item) && typeof item['type'] === 'string' ? item : undefined;
}

/** Removes the names of classes: the fields of an item are as in JSON. */
function withoutClasses(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(withoutClasses);
  }
  return isRecord(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([key, inner]) =>
          key === REPR_TYPE ? [] : [[key, withoutClasses(inner)]],
        ),
      )
    : value;
}

/** Reads a message that Python printed as a dictionary with a role. */
export function readPrintedMessage(text: string): Fields | undefined {
  const message = DICTIONARY.test(text) ? parsePythonRepr(text) : undefined;
  return isRecord(message) && typeof message['role'] === 'string' ? message : undefined;
}

/** Reads LangChain's message of a tool that Python printed as its fields; undefined for any other value. */
export function readPrintedToolMessage(value: unknown): Fields | undefined {
  const isPrinted = typeof value === 'string' && TOOL_MESSAGE.test(value);
  const message = isPrinted ? parsePythonRepr(`ToolMessage(${value})`) : undefined;
  return isRecord(message) ? { ...message, type: 'tool' } : undefined;
}

/** Parses a dictionary that Python printed, as LangChain hands arguments to callbacks. Any other value stays as it is. */
export function openPrintedArguments(value: unknown): unknown {
  const printed = typeof value === 'string' && DICTIONARY.test(value) ? parsePythonRepr(value) : undefined;
  return isRecord(printed) ? printed : value;
}

const HEADING = /^\[\[ ## (\w+) ## \]\]$/;

const THOUGHTS = new Set(['next_thought', 'reasoning', 'rationale']);

/** Reads the output of a model that DSPy made answer in fields with headings, as thoughts, tool calls and answer. */
export function readDspyText(parts: NormalPart[]): NormalPart[] {
  const [only] = parts;
  if (parts.length !== 1 || only?.type !== 'text' || !only.text.trimStart().startsWith('[[ ## ')) {
    return parts;
  }
  const fields = fieldsIn(only.text);
  const tool = fields.get('next_tool_name');
  const args = fields.get('next_tool_args');
  const called =
    tool === undefined ? [] : [callPart({ id: null, name: tool, args: structureIn(args) ?? {} })];
  const thoughts = [...fields].filter(([name]) => THOUGHTS.has(name));
  const rest = [...fields].filter(([name]) => !THOUGHTS.has(name) && !/^(next_tool_|completed$)/.test(name));
  return [
    ...thoughts.flatMap(([, text]) => reasoningPart(text)),
    ...called,
    ...textPart(rest.map(([, text]) => text).join('\n')),
  ];
}

function fieldsIn(text: string): Map<string, string> {
  const fields = new Map<string, string[]>();
  let lines: string[] = [];
  for (const line of text.split('\n')) {
    const name = HEADING.exec(line.trim())?.[1];
    if (name === undefined) {
      lines.push(line);
    } else {
      lines = [];
      fields.set(name, lines);
    }
  }
  return new Map([...fields].map(([name, content]) => [name, content.join('\n').trim()]));
}
