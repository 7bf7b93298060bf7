// Builds dist/ from src/: the program, and the entry of each of its threads. Most packages are bundled into it, because a start that
// reads a thousand files takes nearly twice the CPU. What stays outside has native code, is rarely loaded, or is what OpenTelemetry's
// instrumentations find by its name.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { defineConfig } from 'rolldown';

const threads = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('-entry.ts'))
  .map((file) => [`lib/${path.basename(file, '.ts')}`, path.join('src', file)] as const);

// An import of it reads each of its exports, and one of them loads Node's own fetch: 40 ms of each start.
const HTTP = '\0node:http';
const httpWithoutFetch = {
  name: 'http-without-fetch',
  resolveId: (id: string) => (/^(node:)?http$/.test(id) ? HTTP : undefined),
  load: (id: string) =>
    id === HTTP
      ? `const http = process.getBuiltinModule('node:http'); export default http; export const { request, Server, STATUS_CODES } = http;`
      : undefined,
};

const packageOf = (id: string) =>
  /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1]?.replace('/', '-') ?? 'packages';

export default defineConfig({
  plugins: [httpWithoutFetch],
  input: { main: 'src/main.ts', ...Object.fromEntries(threads) },
  platform: 'node',
  external: ['@node-rs/argon2', 'ioredis', 'koa', 'lmdb', 'pino', 'prom-client'],
  // views/ and package.json are two folders above each module, as in src/.
  output: {
    chunkFileNames: 'lib/[name]-[hash].js',
    sourcemap: true,
    sourcemapExcludeSources: true,
    // One chunk for each package: with the engine in the same module as ours, an introspection took a third more CPU.
    codeSplitting: { groups: [{ test: /node_modules/, name: packageOf, debugName: 'packages' }] },
  },
});
