import { getTextContentFromMastraDBMessage, looseText } from './message-text.ts';
import { isObject } from '../../domain/unknown-values.ts';

/** Returns the answer: the text of the last assistant message that has text, or of a single message in any common shape. */
export function getAssistantMessageFromRunOutput(output: unknown): string | undefined {
  if (typeof output === 'string') {
    return output;
  }
  if (Array.isArray(output)) {
    return output
      .filter(isAssistant)
      .map((message) => looseText(message['content']) ?? looseText(message))
      .findLast((text) => text !== undefined);
  }
  if (!isObject(output) || (output['role'] !== undefined && output['role'] !== 'assistant')) {
    return undefined;
  }
  for (const field of ['text', 'content'] as const) {
    if (typeof output[field] === 'string') {
      return output[field];
    }
  }
  return looseText(output['content'], ['text']);
}

/** Returns the reasoning of the first assistant message; undefined without one. */
export function getReasoningFromRunOutput(output: unknown): string | undefined {
  const first = Array.isArray(output) ? output.find(isAssistant) : undefined;
  const content = first?.['content'];
  if (!isObject(content)) {
    return undefined;
  }
  if (typeof content['reasoning'] === 'string' && content['reasoning'] !== '') {
    return content['reasoning'];
  }
  const parts = Array.isArray(content['parts']) ? content['parts'] : [];
  const texts = parts.filter(isReasoning).map(reasoningText).filter(Boolean);
  return texts.length === 0 ? undefined : texts.join('\n');
}

/** Lists the text of every assistant message; '' for one without text. */
export function extractAgentResponseMessages(output: unknown): string[] {
  return Array.isArray(output) ? output.filter(isAssistant).map(getTextContentFromMastraDBMessage) : [];
}

function isAssistant(message: unknown): message is Record<string, unknown> {
  return isObject(message) && message['role'] === 'assistant';
}

function isReasoning(part: unknown): part is Record<string, unknown> {
  return isObject(part) && part['type'] === 'reasoning';
}

function reasoningText(part: Record<string, unknown>): string {
  const { details } = part;
  if (Array.isArray(details)) {
    return details
      .filter((detail) => isObject(detail) && detail['type'] === 'text')
      .map((detail) => ((detail as Record<string, unknown>)['text'] as string | undefined) ?? '')
      .join('');
  }
  return typeof part['reasoning'] === 'string' ? part['reasoning'] : '';
}
