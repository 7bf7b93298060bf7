// How many argon2id hashes this machine verifies in a second, as many at once as it has cores: the limit of signing in.
import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';

const [seconds = '2', memoryCost = '19456', timeCost = '2'] = process.argv.slice(2);
const password = 'correct horse battery staple 27';
const stored = await hash(password, {
  memoryCost: Number(memoryCost),
  timeCost: Number(timeCost),
  parallelism: 1,
});
await verify(stored, password);

const cpuBefore = process.cpuUsage();
const started = performance.now();
let done = 0;
async function loop(): Promise<void> {
  while (performance.now() - started < Number(seconds) * 1000) {
    await verify(stored, password);
    done += 1;
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, loop));
const { user, system } = process.cpuUsage(cpuBefore);
const elapsed = (performance.now() - started) / 1000;
process.stdout.write(JSON.stringify({ perSecond: done / elapsed, cpuMicroseconds: (user + system) / done }));
