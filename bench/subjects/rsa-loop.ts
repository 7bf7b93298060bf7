// S1: how many RSA-2048 signatures one process creates in a second, one after the other. The physical limit; two of these
// processes at once are S2.
import { generateKeyPairSync, sign } from 'node:crypto';

const seconds = Number(process.argv[2] ?? 2);
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const data = Buffer.alloc(600, 'a');
for (let warm = 0; warm < 500; warm += 1) sign('sha256', data, privateKey);

const cpuBefore = process.cpuUsage();
const started = performance.now();
let done = 0;
while (performance.now() - started < seconds * 1000) {
  sign('sha256', data, privateKey);
  done += 1;
}
const { user, system } = process.cpuUsage(cpuBefore);
const elapsed = (performance.now() - started) / 1000;
process.stdout.write(JSON.stringify({ rate: done / elapsed, cpu: (user + system) / done }));
