import { InvalidInputError } from '../../domain/errors.ts';
import { mergeToolInvocations, listToolInvocations } from '../../evals/trajectory/tool-invocations.ts';
import type { LooseInvocation } from '../../evals/trajectory/tool-invocations.ts';

export interface ToolCallInfo {
  toolName: string;
  /** `<messageIndex>-<invocationIndex>` where the call has no id. */
  toolCallId: string;
  messageIndex: number;
  invocationIndex: number;
}

export interface ToolResultInfo {
  toolName: string;
  toolCallId: string;
  args: unknown;
  result: unknown;
}

const CALLED_STATES: ReadonlySet<unknown> = new Set(['result', 'call', 'output-error']);

/** Lists every tool call of a run's output, including failed and unanswered calls. */
export function extractToolCalls(output: readonly unknown[]): {
  tools: string[];
  toolCallInfos: ToolCallInfo[];
} {
  const toolCallInfos = listMessages(output, 'extractToolCalls').flatMap((message, messageIndex) =>
    mergeToolInvocations(message).flatMap((invocation, invocationIndex) =>
      isNamedCall(invocation)
        ? {
            toolName: invocation.toolName,
            toolCallId: invocation.toolCallId || `${messageIndex}-${invocationIndex}`,
            messageIndex,
            invocationIndex,
          }
        : [],
    ),
  );
  return { tools: toolCallInfos.map((info) => info.toolName), toolCallInfos };
}

/** Lists the results of tools in order; calls without a result and failed calls are left out. */
export function extractToolResults(output: readonly unknown[]): ToolResultInfo[] {
  return listToolInvocations(listMessages(output, 'extractToolResults'))
    .filter((invocation) => invocation.state === 'result' && invocation.result !== undefined)
    .map((invocation) => ({
      toolName: invocation.toolName as string,
      toolCallId: invocation.toolCallId ?? '',
      args: invocation.args ?? {},
      result: invocation.result,
    }));
}

function isNamedCall(invocation: LooseInvocation): invocation is LooseInvocation & { toolName: string } {
  return Boolean(invocation.toolName) && CALLED_STATES.has(invocation.state);
}

function listMessages(output: unknown, caller: string): readonly unknown[] {
  if (!Array.isArray(output)) {
    throw new InvalidInputError(`${caller} needs the list of output messages of an agent run`);
  }
  return output;
}
