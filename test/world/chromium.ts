// The real browser of the tests. browser.ts is one in plain HTTP.
import { type Browser, type BrowserContext, chromium, type LaunchOptions } from 'playwright-core';
import { requireServer } from './servers.ts';

/** It makes no requests of its own, and runs as root and where /dev/shm is small. */
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
];

export function launchChromium(options: Pick<LaunchOptions, 'env'> = {}): Promise<Browser> {
  return chromium.launch({ ...options, executablePath: requireServer('chromium'), args: ARGS });
}

/** With what a browser keeps in `folder` when it is closed. */
export function reopenChromium(folder: string): Promise<BrowserContext> {
  return chromium.launchPersistentContext(folder, { executablePath: requireServer('chromium'), args: ARGS });
}
