import type { LooseInvocation } from '../../../evals/trajectory/tool-invocations.ts';
import { isObject } from '../../../domain/unknown-values.ts';

/** Reason why a run without evidence has no score. */
export const NO_CONTEXT =
  'there is no context to check the answer against: the run holds no tool results or documents, and none was given';

/** Lists the ids of transfers to another agent. */
export function listHandoffIds(message: unknown): unknown[] {
  const content = isObject(message) ? message['content'] : undefined;
  const parts = isObject(content) && Array.isArray(content['parts']) ? content['parts'] : [];
  return parts
    .filter((part) => isObject(part) && part['handoff'] === true && isObject(part['toolInvocation']))
    .map((part) => (part as { toolInvocation: LooseInvocation }).toolInvocation.toolCallId);
}
