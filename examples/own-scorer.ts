/**
 * A scorer of your own. Copy it beside spanscore.config.yaml and name it there:
 *
 *   scorers:
 *     answer-length: { module: ./own-scorer.ts }
 *   rules:
 *     - { name: mine, scorers: [answer-length] }
 *
 * Try it on a stored trace or on a file: spanscore score <trace-id|file> --scorer answer-length
 */
import { defineScorer, notScorable } from 'spanscore/evals';
import { getAssistantMessageFromRunOutput } from 'spanscore/scorers/utils';

/** Words that an answer may have without losing anything, and words at which its score is 0. */
const WORDS = { fine: 120, tooMany: 400 };

export default defineScorer({
  id: 'answer-length',
  description: 'Whether the answer is short enough to be read',
  higherIsBetter: true,
  range: [0, 1],
  labels: [{ label: 'long', below: 1 }, { label: 'short' }],
  // It asks no model, so it sees the run as it is.
  judgeModel: '',
  run({ output }) {
    const answer = getAssistantMessageFromRunOutput(output);
    if (answer === undefined || answer.trim() === '') {
      return notScorable('the run has no answer');
    }
    const words = answer.trim().split(/\s+/).length;
    const excess = (words - WORDS.fine) / (WORDS.tooMany - WORDS.fine);
    return { score: 1 - Math.min(1, Math.max(0, excess)), reason: `${words} words` };
  },
});
