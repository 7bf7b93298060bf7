// The real browser of the tests (browser.ts is an HTTP client).
import { type Browser, type BrowserContext, chromium, type LaunchOptions } from 'playwright-core';
import { requireServer } from './servers.ts';

/** Arguments that stop Chromium's own requests, and let it run as root and with a small /dev/shm. */
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

/** Opens the browser with the profile that an earlier run left in `folder`. */
export function reopenChromium(folder: string): Promise<BrowserContext> {
  return chromium.launchPersistentContext(folder, { executablePath: requireServer('chromium'), args: ARGS });
}
