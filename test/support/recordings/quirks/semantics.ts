import { CALL, listCalls, chats, QUESTION, recorded, listRuns, tool } from './run-facts.ts';
import type { Quirk } from './span-facts.ts';

/** Quirks in the meaning of names and results. */
export const semantics: readonly Quirk[] = [
  [
    'Q58 a tool is called by its key in the registry, as the model calls it',
    () => listCalls(recorded('mastra-otel-exporter')).map((call) => (call as unknown[])[0]),
    ['weather'],
  ],
  [
    'Q61 an error object of a tool that ended well is its result',
    () =>
      listCalls(
        listRuns([
          ...chats([[QUESTION], [CALL]]),
          tool({ id: '1', name: 'get', result: { error: 'no such city' } }),
        ]),
      ),
    [['get', { a: 1 }, { error: 'no such city' }]],
  ],
];
