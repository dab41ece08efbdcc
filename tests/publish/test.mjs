// SPDX-License-Identifier: Apache-2.0
// usage: node test.mjs DRIVE DIR     prints TAP; DIR keeps what is fetched
import { Bench, plan, test } from './harness.mjs';
import { Server } from './server.mjs';
import { answers } from './answers.mjs';
import { contract } from './contract.mjs';
import { kills } from './kills.mjs';
import { stories } from './stories.mjs';

const [, , program, dir] = process.argv;
const server = new Server();
await server.listen();
const bench = new Bench(program, server);
let all = false;
try {
  await stories(test, bench);
  await answers(test, bench);
  await kills(test, bench);
  await contract(test, bench, dir);
  all = plan();
} finally {
  bench.remove();
  server.close();
}
process.exitCode = all ? 0 : 1;
