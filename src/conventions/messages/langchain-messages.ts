import { rolesOf } from '../attributes.ts';
import type { NormalMessage } from '../normalised-span.ts';
import { field, type Fields, firstField } from '../json.ts';
import { isRecord } from '../../domain/unknown-values.ts';

const TYPE_ROLES = rolesOf<NormalMessage['role']>({
  user: 'human HumanMessage',
  assistant: 'ai AIMessage AIMessageChunk',
  system: 'system SystemMessage',
  tool: 'tool ToolMessage',
});

/**
 * Converts a LangChain message to the common shape (role, content, tool_calls, tool_call_id), from any of its three serialised
 * forms: `{type, data}`, `{lc, id: […, class], kwargs}`, and flat `{type, content}`. Undefined for any other value.
 */
export function fromLangChain(value: Fields): Fields | undefined {
  const id = field(value, 'id');
  const className = Array.isArray(id) ? (id as unknown[]).at(-1) : undefined;
  const type = field(value, 'lc') === undefined ? field(value, 'type') : className;
  const role = typeof type === 'string' ? TYPE_ROLES.get(type) : undefined;
  const inner = firstField(value, 'data', 'kwargs');
  const holder = isRecord(inner) ? inner : value;
  if (role === undefined || !Object.hasOwn(holder, 'content')) {
    return undefined;
  }
  return {
    role,
    content: field(holder, 'content'),
    tool_calls: field(holder, 'tool_calls'),
    additional_kwargs: field(holder, 'additional_kwargs'),
    tool_call_id: field(holder, 'tool_call_id'),
    name: field(holder, 'name'),
    status: field(holder, 'status'),
  };
}

/**
 * Returns true for the node of LangGraph's ready-made agent that calls the model. Its name is `agent`, which instrumentations
 * take for an agent; the agent is the graph around it.
 */
export function isModelNode(spanName: string, node: unknown): boolean {
  return spanName === 'agent' && (node === 'agent' || node === '"agent"');
}
