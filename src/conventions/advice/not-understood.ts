import type { NotUnderstood } from '../../domain/trace/agent-run.ts';
import type { NormalisedSpan } from '../normalised-span.ts';

/** Most spans that a reading lists as not understood, and most keys of each. */
const MAX_NOT_UNDERSTOOD = 50;
const MAX_KEYS = 30;

/** Prefixes of keys that only agent and model instrumentations use. */
const AGENT_KEYS =
  /^(gen_ai\.|llm\.|ai\.(?!azure)|openinference\.|traceloop\.|langfuse\.|langsmith\.|mastra\.|mlflow\.span|gcp\.vertex\.agent\.|genkit:|pydantic_ai\.|crewai\.|haystack\.|koog\.|spring\.ai\.|lk\.|lmnr\.|smolagents\.|claude_code\.|agent_framework\.|braintrust\.|flue\.|voltagent\.)/;

/** True for a key that only agent and model instrumentations use. */
export function isAgentKey(key: string): boolean {
  return AGENT_KEYS.test(key);
}

/** Operations that are known not to be part of a run. */
const QUIET_OPERATIONS = new Set(['create_agent', 'create_memory_store']);

/** Finds spans that look like spans of an agent or a model, but that no convention can read. */
export function findNotUnderstood(normalised: readonly NormalisedSpan[]): NotUnderstood[] {
  const found: NotUnderstood[] = [];
  for (const { span, facts } of normalised) {
    if (found.length >= MAX_NOT_UNDERSTOOD) {
      break;
    }
    const operation = span.attributes.get('gen_ai.operation.name');
    if (facts.role !== undefined || (operation !== undefined && QUIET_OPERATIONS.has(operation))) {
      continue;
    }
    const keys = [...span.attributes.keys()].filter(isAgentKey);
    if (keys.length > 0) {
      found.push({
        spanId: span.spanId,
        name: span.name,
        service: span.serviceName,
        scope: span.scopeName,
        reason: `${
          operation === undefined
            ? 'no known convention describes what this span is'
            : `gen_ai.operation.name "${operation}" is not a known operation`
        }${span.truncated === undefined ? '' : `; truncated when it was stored: ${span.truncated.join(', ')}`}`,
        attributes: keys.sort().slice(0, MAX_KEYS),
      });
    }
  }
  return found;
}
