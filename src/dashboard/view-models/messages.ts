import type { AgentRun } from '../../domain/trace/agent-run.ts';
import type { AgentMessage, MessagePart, SystemMessage } from '../../domain/trace/messages.ts';
import { showValue } from './visible-text.ts';

/** Part of a message for people. */
export interface ShownPart {
  readonly kind: 'text' | 'reasoning' | 'call' | 'file' | 'other';
  /** Heading of the part; '' for the text of the message itself. */
  readonly title: string;
  readonly text: string;
  /** Result of a tool; undefined for another part. */
  readonly result?: { readonly isError: boolean; readonly text: string };
}

/** Lists the parts of a message for people. */
export function showParts({ content }: Pick<AgentMessage, 'content'>): ShownPart[] {
  return content.parts.map(showPart);
}

function showPart(part: MessagePart): ShownPart {
  if (isOf(part, 'text')) {
    return { kind: 'text', title: '', text: part.text };
  }
  if (isOf(part, 'reasoning')) {
    return { kind: 'reasoning', title: 'Reasoning', text: part.reasoning };
  }
  if (isOf(part, 'tool-invocation')) {
    const { toolName, args, state, result, errorText } = part.toolInvocation;
    const title = `Tool ${toolName}`;
    const text = showValue(args);
    if (errorText !== undefined) {
      return { kind: 'call', title, text, result: { isError: true, text: errorText } };
    }
    return state === 'result'
      ? { kind: 'call', title, text, result: { isError: false, text: showValue(result) } }
      : { kind: 'call', title: `${title} (${state})`, text };
  }
  if (isOf(part, 'file')) {
    return {
      kind: 'file',
      title: `File, ${part.mimeType}`,
      text: `${part.data.length} characters; files are not shown`,
    };
  }
  return { kind: 'other', title: part.type, text: showValue(part) };
}

function isOf<Type extends MessagePart['type']>(
  part: MessagePart,
  type: Type,
): part is Extract<MessagePart, { type: Type }> {
  return part.type === type;
}

/** Reads the question of a run and its whole answer. */
export function readTexts({
  input,
  output,
}: Pick<AgentRun, 'input' | 'output'>): [question: string, answer: string] {
  const textOf = (messages: readonly AgentMessage[]) =>
    messages
      .flatMap((message) => showParts(message).flatMap(({ kind, text }) => (kind === 'text' ? [text] : [])))
      .join('\n')
      .trim();
  return [textOf(input.inputMessages.filter(({ role }) => role === 'user').slice(-1)), textOf(output)];
}

/** Returns the text of a system message. */
export function showSystem({ content }: SystemMessage): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('\n');
}

const ROLES: Readonly<Record<AgentMessage['role'], string>> = {
  user: 'User',
  assistant: 'Agent',
  system: 'System',
  signal: 'Signal',
};

/** Names the role of a message. */
export function showRole({ role }: Pick<AgentMessage, 'role'>): string {
  return ROLES[role];
}
