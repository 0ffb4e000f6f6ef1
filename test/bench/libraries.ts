/**
 * Cost of spanscore's own protobuf reader and own gRPC server beside `@bufbuild/protobuf` and `@grpc/grpc-js` under the same
 * limits. Both sides take turns in one process; figures are medians. `node test/bench/libraries.ts [protobuf] [grpc] [rounds=9]`:
 * both parts without a name.
 */
import { loadavg } from 'node:os';
import { sumUp } from './bench-table.ts';
import { benchGrpc } from './libraries/bench-grpc.ts';
import { benchProtobuf } from './libraries/bench-protobuf.ts';

const given = process.argv.slice(2);
const rounds = Number(given.find((arg) => arg.startsWith('rounds='))?.slice('rounds='.length) ?? 9);
const names = given.filter((arg) => !arg.startsWith('rounds='));

const load = () => loadavg()[0]?.toFixed(1);
console.log(`Node ${process.version}; load of the machine over one minute: ${load()}`);
const parts = { protobuf: benchProtobuf, grpc: benchGrpc };
for (const [name, bench] of Object.entries(parts)) {
  if (names.length === 0 || names.includes(name)) {
    await bench(rounds);
  }
}
sumUp();
console.log(`Load at the end: ${load()}`);
