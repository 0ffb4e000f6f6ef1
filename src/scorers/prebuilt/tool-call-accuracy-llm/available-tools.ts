import { cutText } from '../../../domain/cut-text.ts';
import { isObject } from '../../../domain/unknown-values.ts';
import type { ScorerRunInput } from '../../../evals/scorer.ts';

/** Most characters of all tools in a question: about 2,000 tokens. */
const MAX_CHARS = 8_000;
/** Longest descriptions in the shorter forms. */
const SHORT_CHARS = 240;
const SHORTEST_CHARS = 60;

/** A tool that was available to the agent. */
export interface AvailableTool {
  readonly id: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly parameters?: unknown;
}

/** Lists the tools that the agent had: the tools of the caller, else the tools of the run. The run's definitions add parameters. */
export function listAvailable(
  { tools }: ScorerRunInput,
  given: readonly AvailableTool[] | undefined,
): readonly AvailableTool[] {
  const offered = (Array.isArray(tools) ? (tools as unknown[]) : []).filter(isObject).map(readOffered);
  const known = new Map(offered.map((tool) => [tool.id, tool]));
  return given?.map((tool) => ({ ...known.get(tool.id), ...tool })) ?? offered;
}

function readOffered({ name, description, parameters }: Record<string, unknown>): AvailableTool {
  return {
    id: String(name),
    description: typeof description === 'string' ? description : '',
    ...(parameters === undefined ? {} : { parameters }),
  };
}

/** Shows tools by name, in the fullest form that fits: with parameters, with names of arguments, or with a few words. */
export function showTools(tools: readonly AvailableTool[]): Record<string, unknown> {
  const forms = [showWhole, showShort, showShortest].map((form) =>
    Object.fromEntries(tools.map((tool) => [tool.id, form(tool)])),
  );
  const fitting = forms.find((form) => JSON.stringify(form).length <= MAX_CHARS);
  return fitting ?? { names: cutText(tools.map(({ id }) => id).join(', '), MAX_CHARS) };
}

function showWhole({ description, parameters }: AvailableTool): unknown {
  return parameters === undefined ? description : { description, parameters };
}

function showShort({ description, parameters }: AvailableTool): unknown {
  const { properties, required } = isObject(parameters) ? parameters : {};
  const words = cutText(description, SHORT_CHARS);
  return isObject(properties)
    ? { description: words, parameters: Object.keys(properties), required: required ?? [] }
    : words;
}

function showShortest({ description }: AvailableTool): string {
  return cutText(description, SHORTEST_CHARS);
}
