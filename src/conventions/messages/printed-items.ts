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

/** An object as Python's `repr` prints it, and one as Pydantic's `str` does. */
const OBJECT = /^[A-Za-z_][\w.]*\(\w+=/;
const OBJECT_FIELDS = /^(role|content|type|name|id|text)=['"]/;
/** An object whose class has a name of several words, or one with another object in it: no sentence, also when it was cut off. */
const CUT_OBJECT = /^(?:[A-Z]+[a-z0-9]+){2,}\(\w+=|^[A-Z]\w*\(\w+=[[({]*[A-Z]\w*\(/;

/** Reads an object that Python printed; null for one that was cut off, undefined for any other text. */
export function readPrintedObject(text: string): Fields | null | undefined {
  const printed = OBJECT.test(text) ? text : OBJECT_FIELDS.test(text) ? `Printed(${text})` : undefined;
  const object = printed === undefined ? undefined : withoutClasses(parsePythonRepr(printed));
  return isRecord(object) ? object : CUT_OBJECT.test(text) ? null : undefined;
}

/** Reads what Python printed in brackets, without the names of classes; undefined for any other text. */
export function readPrinted(text: string): unknown {
  return withoutClasses(parsePythonRepr(text));
}

/** Removes the names of classes and the underscores of private fields: the fields of an item are as in JSON. */
function withoutClasses(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(withoutClasses);
  }
  return isRecord(value)
    ? Object.fromEntries(
        Object.entries(value).flatMap(([key, inner]) =>
          key === REPR_TYPE ? [] : [[key.replace(/^_/, ''), withoutClasses(inner)]],
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
