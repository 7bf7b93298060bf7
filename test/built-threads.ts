// Runs the built entry of each thread that a service starts within this process: otherwise Node loads its TypeScript stripper in each of
// them, which is two thirds of the CPU of a thread, for the first sign-in of each world.
import path from 'node:path';
import { syncBuiltinESMExports } from 'node:module';
import { pathToFileURL } from 'node:url';
import threads, { Worker, type WorkerOptions } from 'node:worker_threads';

const DIST = pathToFileURL(`${path.resolve(import.meta.dirname, '../dist')}/`);

class BuiltWorker extends Worker {
  constructor(entry: string | URL, options?: WorkerOptions) {
    const [, name] = /\/src\/.*?([\w-]+-entry)\.ts$/.exec(String(entry)) ?? [];
    super(name === undefined ? entry : new URL(`lib/${name}.js`, DIST), options);
  }
}

// Once for all files that this process runs.
if (threads.Worker.name !== BuiltWorker.name) {
  threads.Worker = BuiltWorker;
  syncBuiltinESMExports();
}
