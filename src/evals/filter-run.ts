import type { ScorerRunInput } from './scorer.ts';
import { isObject } from '../domain/unknown-values.ts';

export interface FilterRunOptions {
  readonly dropRequestContext?: boolean;
  readonly dropExpectedTrajectory?: boolean;
  readonly dropGroundTruth?: boolean;
  /** Keeps messages with a part whose type starts with one of these. */
  readonly partTypes?: readonly string[];
  /** Of the messages that call tools, keeps those with a call of a tool whose name starts with one of these. */
  readonly toolNames?: readonly string[];
  /** Keeps the last n remembered messages; 0 or absent: no limit. */
  readonly maxRememberedMessages?: number;
  /** Keeps the last n output messages; 0 or absent: no limit. */
  readonly maxOutputMessages?: number;
}

/** Creates a `prepareRun` that removes messages from the run of a scorer. It keeps or drops whole messages. */
export function filterRun(options: FilterRunOptions): (run: ScorerRunInput) => ScorerRunInput {
  return (run) => {
    const filtered: ScorerRunInput = { ...run };
    for (const field of droppedFields(options)) {
      filtered[field] = undefined;
    }
    const { input, output } = run;
    if (isObject(input) && Array.isArray(input['rememberedMessages'])) {
      const remembered = narrow(input['rememberedMessages'], options, options.maxRememberedMessages);
      filtered.input = { ...input, rememberedMessages: remembered };
    }
    if (Array.isArray(output)) {
      filtered.output = narrow(output, options, options.maxOutputMessages);
    }
    return filtered;
  };
}

function droppedFields(options: FilterRunOptions): string[] {
  const fields: [boolean | undefined, string][] = [
    [options.dropRequestContext, 'requestContext'],
    [options.dropExpectedTrajectory, 'expectedTrajectory'],
    [options.dropGroundTruth, 'groundTruth'],
  ];
  return fields.filter(([drop]) => drop).map(([, field]) => field);
}

function narrow(messages: readonly unknown[], options: FilterRunOptions, max: number | undefined): unknown[] {
  const kept = messages.filter((message) => isKept(message, options));
  return max ? kept.slice(-max) : kept;
}

function isKept(message: unknown, { partTypes, toolNames }: FilterRunOptions): boolean {
  const parts = findParts(message);
  if (parts === undefined) {
    return true;
  }
  const hasType = partTypes === undefined || parts.some((part) => startsWithAny(part['type'], partTypes));
  const tools = parts.filter((part) => part['type'] === 'tool-invocation');
  if (tools.length === 0) {
    return hasType;
  }
  const hasTool =
    toolNames === undefined || tools.some((part) => startsWithAny(readToolName(part), toolNames));
  return hasType && hasTool;
}

function findParts(message: unknown): Record<string, unknown>[] | undefined {
  const content = isObject(message) ? message['content'] : undefined;
  const parts = isObject(content) ? content['parts'] : undefined;
  return Array.isArray(parts) ? parts.filter(isObject) : undefined;
}

function readToolName(part: Record<string, unknown>): unknown {
  const invocation = part['toolInvocation'];
  return isObject(invocation) ? invocation['toolName'] : undefined;
}

function startsWithAny(value: unknown, prefixes: readonly string[]): boolean {
  return typeof value === 'string' && prefixes.some((prefix) => value.startsWith(prefix));
}
