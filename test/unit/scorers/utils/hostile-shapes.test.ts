import { describe, expect, it } from 'vitest';
import {
  extractToolResults,
  getAssistantMessageFromRunOutput,
  getCombinedSystemPrompt,
  getReasoningFromRunOutput,
  getUserMessageFromRunInput,
} from '../../../../src/scorers/shared/utils.ts';

function nested(field: string, levels: number): unknown {
  let value: unknown = 'deep';
  for (let level = 0; level < levels; level += 1) {
    value = { [field]: value };
  }
  return value;
}

describe('readers of unchecked values', () => {
  it('stop at a depth instead of running out of stack', () => {
    expect(getUserMessageFromRunInput(nested('content', 100_000))).toBeUndefined();
    expect(getUserMessageFromRunInput(nested('input', 100_000))).toBeUndefined();
    expect(getAssistantMessageFromRunOutput(nested('content', 100_000))).toBeUndefined();
    expect(getUserMessageFromRunInput(nested('content', 3))).toBe('deep');
  });

  it.each([null, undefined, 0, '', [], {}, [null], [[]], { inputMessages: [null, 1] }, [{ content: null }]])(
    'give nothing for %j',
    (odd) => {
      expect(getReasoningFromRunOutput(odd)).toBeUndefined();
      expect(getCombinedSystemPrompt(odd)).toBe('');
      expect(extractToolResults(Array.isArray(odd) ? odd : [odd])).toEqual([]);
      expect(getUserMessageFromRunInput(odd) ?? '').toBe('');
      expect(getAssistantMessageFromRunOutput(odd) ?? '').toBe('');
    },
  );
});
