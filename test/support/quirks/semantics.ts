import { CALL, callsOf, chats, QUESTION, recorded, runsOf, tool } from './run-facts.ts';
import type { Quirk } from './span-facts.ts';

/** Meanings of names and results. */
export const semantics: readonly Quirk[] = [
  [
    'Q58 a tool is called by its key in the registry, as the model calls it',
    () => callsOf(recorded('mastra-otel-exporter')).map((call) => (call as unknown[])[0]),
    ['weather'],
  ],
  [
    'Q61 an error object of a tool that ended well is its result',
    () =>
      callsOf(
        runsOf([
          ...chats([[QUESTION], [CALL]]),
          tool({ id: '1', name: 'get', result: { error: 'no such city' } }),
        ]),
      ),
    [['get', { a: 1 }, { error: 'no such city' }]],
  ],
];
