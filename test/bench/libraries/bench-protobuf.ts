import { DEFAULT_COLLECTOR_LIMITS } from '../../../collector/limits.ts';
import { decodeRequest } from '../../../collector/otlp/decode-request.ts';
import type { RowPiece } from '../../../collector/otlp/row-pieces.ts';
import { requestBytes } from '../../support/builders/otlp-proto-writer.ts';
import { listExpectations, recordedSpans } from '../../support/recordings/recorded-spans.ts';
import { benchRequests } from '../bench-requests.ts';
import { head, row, verdictOn } from '../bench-table.ts';
import { timesPerRun } from '../measured-time.ts';
import { loadTraceDecoder } from './protobuf-library.ts';
import { rowsByLibrary } from './rows-by-library.ts';
import { isWorthIt } from './worth-it.ts';

const BUDGET_MS = 8_000;
const DIFFERENT_REQUESTS = 50;

/** Every trace request of the recordings, as protobuf. */
function recordedRequests(): Buffer[] {
  const lines = (['spans', 'spans-multi'] as const).flatMap((folder) =>
    listExpectations(folder).flatMap(([name]) => recordedSpans(folder, name).split('\n')),
  );
  return lines
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((request) => 'resourceSpans' in request)
    .map((request) => requestBytes(request));
}

/** CPU time from the bytes of a trace request to its rows: own reader, and the library's objects. */
export async function benchProtobuf(): Promise<void> {
  head(
    'A protobuf request to RowBinary rows, CPU milliseconds',
    'requests',
    'spanscore',
    '@bufbuild/protobuf',
    'of it decoding',
    'ratio',
    'goal',
  );
  const decode = await loadTraceDecoder();
  const byLibrary = rowsByLibrary(decode, DEFAULT_COLLECTOR_LIMITS);
  const byOwn = (body: Uint8Array, tenant: string): readonly RowPiece[] =>
    decodeRequest('traces', 'protobuf', body, tenant).pieces;
  const kinds = { '100 spans of 2.6 KB': benchRequests(DIFFERENT_REQUESTS), recorded: recordedRequests() };
  for (const [kind, bodies] of Object.entries(kinds)) {
    requireSameRows(bodies, byOwn, byLibrary);
    const each = (run: (body: Buffer) => unknown) => () =>
      Promise.resolve(bodies.forEach((body) => run(body)));
    const runs = [each((body) => byOwn(body, '')), each((body) => byLibrary(body, '')), each(decode)];
    const times = await timesPerRun(runs, BUDGET_MS);
    const [own = NaN, library = NaN, decoding = NaN] = times.map((ms) => ms / bodies.length);
    const ratio = library / own;
    const name = `${bodies.length} requests, ${kind}`;
    row(name, own, library, decoding, `${ratio.toFixed(2)}×`, verdictOn(name, [isWorthIt(ratio)]));
  }
}

type ToRows = (body: Uint8Array, tenant: string) => readonly RowPiece[];

/** Only the same work can be compared. */
function requireSameRows(bodies: readonly Buffer[], one: ToRows, other: ToRows): void {
  const joined = (pieces: readonly RowPiece[]): Buffer => Buffer.concat(pieces.map(({ bytes }) => bytes));
  bodies.forEach((body, index) => {
    if (!joined(one(body, 'shop')).equals(joined(other(body, 'shop')))) {
      throw new Error(`request ${index} has other rows by way of the library`);
    }
  });
}
