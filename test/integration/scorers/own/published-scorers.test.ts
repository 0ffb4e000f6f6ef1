import { afterEach, beforeEach, expect, it } from 'vitest';
import { isPeerInstalled, MISSING_PEER, PEER_ENTRIES, peerFile } from '../../../bench/peer-packages.ts';
import {
  replyJson,
  replyText,
  startJudgeServer,
  type JudgeServer,
} from '../../../support/fakes/judge-server.ts';
import { tellNotProved } from '../../../support/not-proved.ts';
import { OwnScorerWorld } from '../../../support/scoring/own-scorer-world.ts';

if (!isPeerInstalled()) {
  tellNotProved('a published scorer in a process of its own', MISSING_PEER);
}

const CLAIMS = ['It rains in Paris.', 'It is 12 degrees.'];
const REPLIES = [
  replyJson({ claims: CLAIMS }),
  replyJson({
    verdicts: CLAIMS.map((statement, index) => ({
      statement,
      verdict: index === 0 ? 'yes' : 'no',
      reason: '',
    })),
  }),
  replyText('Half of it has no evidence.'),
];

let world: OwnScorerWorld;
let server: JudgeServer;
beforeEach(async () => {
  world = new OwnScorerWorld();
  server = await startJudgeServer(({ count }) => REPLIES[count - 1] ?? replyText('?'));
});
afterEach(async () => {
  await server.close();
  await world.close();
});

it.runIf(isPeerInstalled())(
  'a published scorer runs in a process of its own, with its own model and the variables of its entry',
  async () => {
    const path = world.writeModule(
      'published',
      `import { createHallucinationScorer } from ${JSON.stringify(peerFile(PEER_ENTRIES.prebuilt))};
       export default createHallucinationScorer({
         model: { id: 'local/small', url: process.env.MODEL_URL, apiKey: process.env.MODEL_KEY },
         options: { context: ['It rains in Paris.'] },
       });`,
    );
    const environment = { MODEL_URL: server.baseUrl, MODEL_KEY: 'key of the entry' };
    const { scorer } = await world.bindModule('published', path, {
      environment,
      // The library alone takes about the default memory, and many seconds to load on a busy machine.
      memoryBytes: 512 * 1024 * 1024,
      timeoutMs: 120_000,
    });

    const result = await scorer.run({
      input: {
        inputMessages: [
          {
            id: '1',
            role: 'user',
            createdAt: new Date(0),
            content: { format: 2, parts: [], content: 'Weather?' },
          },
        ],
        rememberedMessages: [],
        systemMessages: [],
        taggedSystemMessages: {},
      },
      output: [
        {
          id: '2',
          role: 'assistant',
          createdAt: new Date(0),
          content: {
            format: 2,
            parts: [{ type: 'text', text: CLAIMS.join(' ') }],
            content: CLAIMS.join(' '),
          },
        },
      ],
    });

    expect(result).toMatchObject({ score: 0.5, reason: 'Half of it has no evidence.' });
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(
      Array.from({ length: 3 }, () => 'Bearer key of the entry'),
    );
  },
);
