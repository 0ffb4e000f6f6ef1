import type { ScorerRunInput } from '../../../evals/scorer.ts';
import { listToolInvocations } from '../../../evals/trajectory/tool-invocations.ts';
import type { LooseInvocation } from '../../../evals/trajectory/tool-invocations.ts';
import { isObject, textOrJson } from '../../../domain/unknown-values.ts';

/** Reason why a run without evidence has no score. */
export const NO_CONTEXT =
  'there is no context to check the answer against: the run holds no tool results or documents, and none was given';

/**
 * Reads the evidence of a run: `run.context` where the caller filled it, else the results of the tools in its output, failures
 * included. Equal texts once.
 */
export function contextOfRun(run: ScorerRunInput): string[] {
  const given = Array.isArray(run.context) ? run.context : [];
  if (given.length > 0) {
    return unique(given.map(textOrJson));
  }
  const messages: readonly unknown[] = Array.isArray(run.output) ? run.output : [];
  const handoffs = new Set(messages.flatMap(listHandoffIds));
  return unique(
    listToolInvocations(messages)
      .filter((invocation) => !handoffs.has(invocation.toolCallId))
      .flatMap(listEvidence),
  );
}

function listEvidence(invocation: LooseInvocation): string[] {
  const { state, result, toolName = 'tool', errorText, isError } = invocation;
  if (state === 'output-error') {
    return [`${toolName} failed: ${errorText ?? 'no reason given'}`];
  }
  if (state !== 'result' || result === undefined) {
    return [];
  }
  return [isError === true ? `${toolName} failed: ${textOrJson(result)}` : textOrJson(result)];
}

/** Lists the ids of transfers to another agent. */
export function listHandoffIds(message: unknown): unknown[] {
  const content = isObject(message) ? message['content'] : undefined;
  const parts = isObject(content) && Array.isArray(content['parts']) ? content['parts'] : [];
  return parts
    .filter((part) => isObject(part) && part['handoff'] === true && isObject(part['toolInvocation']))
    .map((part) => (part as { toolInvocation: LooseInvocation }).toolInvocation.toolCallId);
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)].filter((text) => text !== '');
}
