import type { CallPart, NormalMessage, NormalPart, ResultPart } from '../normalised-span.ts';

/** Calls of one block of assistant messages, and the results after it. */
interface Block {
  calls: CallPart[];
  results: ResultPart[];
}

/**
 * Gives the calls and the results of a list of messages common ids. A result without an id belongs to the open calls of the
 * block of assistant messages before it, in order. A call whose id differs from its result's id takes that of the result: the
 * i-th call of a block goes with the i-th result after it, when nothing else in the list has their ids. Messages without such
 * parts stay as they are.
 */
export function bindResults(messages: NormalMessage[]): NormalMessage[] {
  const changes = new Map<NormalPart, NormalPart>();
  for (const block of listBlocks(messages)) {
    bindBlock(block, changes);
  }
  return changes.size === 0
    ? messages
    : messages.map((message) =>
        message.parts.some((part) => changes.has(part))
          ? { ...message, parts: message.parts.map((part) => changes.get(part) ?? part) }
          : message,
      );
}

function listBlocks(messages: readonly NormalMessage[]): Block[] {
  const blocks: Block[] = [];
  let block: Block = { calls: [], results: [] };
  for (const { role, parts } of messages) {
    if (role === 'assistant' && block.results.length > 0) {
      block = { calls: [], results: [] };
    }
    for (const part of parts) {
      if (part.type === 'tool-call') {
        block.calls.push(part);
      } else if (part.type === 'tool-result') {
        block.results.push(part);
      }
    }
    if (block.results.length > 0 && blocks.at(-1) !== block) {
      blocks.push(block);
    }
  }
  return blocks;
}

function bindBlock({ calls, results }: Block, changes: Map<NormalPart, NormalPart>): void {
  const answered = new Set(results.map(({ id }) => id));
  const asked = new Set(calls.map(({ id }) => id));
  const open = new Set(calls.filter(({ id }) => id === null || !answered.has(id)));
  for (const [index, result] of results.entries()) {
    const call =
      result.id === null
        ? [...open].find((one) => isNamed(one, result))
        : asked.has(result.id)
          ? undefined
          : calls[index];
    if (call === undefined || !open.has(call) || !isNamed(call, result)) {
      continue;
    }
    open.delete(call);
    if (result.id === null) {
      changes.set(result, { ...result, id: call.id, name: result.name ?? call.name });
    } else {
      changes.set(call, { ...call, id: result.id });
    }
  }
}

function isNamed(call: CallPart, { name }: ResultPart): boolean {
  return name === null || name === call.name;
}
