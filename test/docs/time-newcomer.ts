// How long it takes from a clone to an app of one's own with somebody signed in, by the steps of README.md: a real clone, a real
// `npm ci`, the ports as they are printed. A person reads and types too; this is what remains when they don't.
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { launchChromium } from '../world/chromium.ts';
import { followReadme, ownPath } from './newcomer.ts';

const folder = await mkdtemp(path.join(tmpdir(), 'postern-first-app-'));
const browser = await launchChromium();
const startedAt = performance.now();
let last = startedAt;

function onStep(name: string): void {
  const now = performance.now();
  const [step, all] = [now - last, now - startedAt].map((ms) => `${(ms / 1000).toFixed(1)} s`.padStart(8));
  process.stdout.write(`${step} ${all}  ${name}\n`);
  last = now;
}

try {
  await promisify(execFile)('git', ['clone', '-q', path.resolve('.'), folder]);
  onStep('git clone');
  await followReadme({ folder, path: ownPath(), browser, onStep });
} finally {
  await browser.close();
  await rm(folder, { recursive: true, force: true });
}
