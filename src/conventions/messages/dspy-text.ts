import { structureIn } from '../json.ts';
import type { NormalPart } from '../normalised-span.ts';
import { callPart, reasoningPart, textPart } from './part-reader.ts';

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
