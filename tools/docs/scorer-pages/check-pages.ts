import { pageOf } from './scorer-page.ts';
import type { ScorerPage } from './scorer-page.ts';

const TARGET = { target: 'the text' };
const CASE = { ignoreCase: 'case is equal (true)' };

/** Checks: scorers in code with the result yes or no. */
export const CHECK_PAGES: readonly ScorerPage[] = [
  check({
    name: 'includes',
    measures: 'whether the answer contains a text',
    formula: 'the answer contains the text',
    given: TARGET,
    options: CASE,
    args: "'18 degrees'",
    because: 'the answer contains it',
  }),
  check({
    name: 'excludes',
    measures: 'whether the answer does not contain a text',
    formula: 'the answer does not contain the text',
    given: TARGET,
    options: CASE,
    args: "'as an AI'",
    because: 'the answer does not contain it',
  }),
  check({
    name: 'equals',
    measures: 'whether the answer is a given text, white space included',
    formula: 'the answer is the text, white space included',
    given: TARGET,
    options: CASE,
    args: "'It is 18 degrees.'",
    because: 'the answer says more',
  }),
  check({
    name: 'matches',
    measures: 'whether a pattern matches the answer',
    formula:
      'the pattern matches a part of the answer (`exact`: all). No time limit: `(a+)+$` blocks the process',
    given: {
      pattern: 'without a time limit: `(a+)+$` blocks the process',
    },
    options: { exact: 'the whole answer (false)' },
    args: String.raw`/\d+ degrees/`,
    because: 'a number of degrees is there',
  }),
  check({
    name: 'similarity',
    measures: 'how much the answer looks like a text',
    formula: 'Dice coefficient of letter pairs, or 1 when it reaches `threshold`',
    given: TARGET,
    options: { ...CASE, threshold: '0 to 1' },
    args: "'It is 18 degrees in Paris.'",
    because: 'the answer says this and a little more',
  }),
  check({
    name: 'calledTool',
    measures: 'whether a tool was called',
    formula: 'the tool was called `times` times or more',
    given: { toolName: 'the tool' },
    options: { times: 'lowest number of calls (1)' },
    args: "'weather', { times: 2 }",
    because: 'it was called once only',
  }),
  check({
    name: 'didNotCall',
    measures: 'whether a tool was not called',
    formula: 'the tool was not called',
    given: { toolName: 'the tool' },
    options: {},
    args: "'delete-account'",
    because: 'it was not called',
  }),
  check({
    name: 'toolOrder',
    measures: 'whether tools were called in a given order, with other calls allowed between them',
    formula: 'these tools were called in this order, others between them or not',
    given: { expectedOrder: 'the tools, in order' },
    options: {},
    args: "['weather', 'umbrella']",
    because: 'the second tool was not called',
  }),
  check({
    name: 'maxToolCalls',
    measures: 'whether the run made at most a given number of tool calls',
    formula: 'at most `max` calls were made',
    given: { max: 'highest number of calls' },
    options: {},
    args: '3',
    because: 'there was one call',
  }),
  check({
    name: 'usedNoTools',
    measures: 'whether the run used no tools',
    formula: 'no tool was called',
    options: {},
    args: '',
    because: 'a tool was called',
  }),
  pageOf('no-tool-errors', {
    title: 'checks.noToolErrors',
    kind: 'check',
    formula: 'every call has a result, and none failed',
    factory: 'checks.noToolErrors',
    args: '',
    because: 'the only call has a result',
  }),
];

function check({
  name,
  ...facts
}: Omit<ScorerPage, 'kind' | 'factory' | 'title'> & { name: string }): ScorerPage {
  const factory = `checks.${name}`;
  return { ...facts, title: factory, kind: 'check', factory };
}
