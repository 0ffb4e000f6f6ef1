import { canonicalJson } from '../../domain/identity.ts';
import type { NormalMessage } from '../normalised-span.ts';

/** Computes a key that is equal for equal messages in any convention: role, trimmed text, tool ids. */
export function messageKey(message: NormalMessage): string {
  const texts: string[] = [];
  const tools: string[] = [];
  for (const part of message.parts) {
    if (part.type === 'text') {
      texts.push(part.text);
    } else if (part.type === 'tool-call') {
      tools.push(part.id ?? callKey(part.name, part.args));
    } else if (part.type === 'tool-result') {
      tools.push(part.id ?? part.name ?? '');
    }
  }
  return JSON.stringify([message.role, texts.join('').replace(/\s+/g, ' ').trim(), ...tools]);
}

/** Computes the key of a call from name and arguments, for calls without an id. */
export function callKey(name: string, args: unknown): string {
  return `${name} ${canonicalJson(args ?? null)}`;
}
