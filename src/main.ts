#!/usr/bin/env node
// The entry point: rejects an outdated Node with one line, then runs the command line, some of which doesn't even load on an old Node. The
// Node that installs may be older (`engines` in package.json), because npm brings a newer one to a checkout on Linux.

import { sizeThreadPool, lowerProcessPriority } from './config/threads.ts';

// Otherwise Node opens its debugger, which runs any code, for every user of this machine. Where we start Node ourselves,
// --disable-sigusr1 prevents that from the start.
process.on('SIGUSR1', () => undefined);

// After a full disk or a closed pipe, the service continues without its greeting; a verb fails.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (process.argv[2] === 'serve') return;
  if (error.code !== 'EPIPE') process.stderr.write(`standard output can't be written: ${error.message}\n`);
  process.exit(1);
});

const REQUIRED = [22, 18] as const;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < REQUIRED[0] || (major === REQUIRED[0] && minor < REQUIRED[1])) {
  process.stderr.write(
    `postern needs Node.js ${REQUIRED.join('.')} or newer to run, this is ${process.versions.node}; in a checkout on Linux with glibc (x64, arm64) npm ci brings Node.js 24, elsewhere install it\n`,
  );
  process.exitCode = 1;
} else {
  sizeThreadPool();
  // This verb reads all users: sign-ins come first, even while its modules load.
  if (process.argv[2] === 'user' && process.argv[3] === 'list') lowerProcessPriority();
  const { run } = await import('./cli/run.ts');
  process.exitCode = await run(process.argv);
}
