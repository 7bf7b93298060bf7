// Every page and state of the preview, by all rules of axe, in each language and color scheme, on a phone and a desktop: some 4,000 checks.
// The suite runs a part of them (test/features/view-tools/browser.test.ts).
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { axeFaults, showInstead } from '../browser/axe.ts';
import { launchChromium } from '../world/chromium.ts';
import { COMPILED, MAIN, type ServiceProcess, startUntil } from '../world/process.ts';
import { putFile, tempFolder } from '../world/temp-folder.ts';

const folder = tempFolder();
let preview: ServiceProcess;
let browser: Browser;
let base: string;

beforeAll(async () => {
  const config = path.join(folder, 'postern.json');
  const branding = {
    name: 'Acme ID',
    privacy_uri: 'https://x.example/p',
    support_uri: 'https://x.example/s',
  };
  putFile(config, JSON.stringify({ issuer: 'http://localhost:3000', branding }));
  const command = [process.execPath, MAIN, 'views', 'preview', '--config', config, '--port', '0'];
  preview = await startUntil('Press Ctrl-C to stop.', command, { env: COMPILED });
  base = /http:\S+/.exec(preview.stdout())?.[0] ?? '';
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await preview?.end();
});

const LOOKS = ['light', 'dark'].flatMap((scheme) => [320, 1280].map((width) => [scheme, width] as const));

it.concurrent.each(LOOKS)(
  'no fault, and nothing wider than the screen: %s, %d px',
  async (scheme, width) => {
    const index = await (await fetch(`${base}/?page=all&lang=en&scheme=${scheme}&width=320`)).text();
    const frames = [...index.matchAll(/<iframe src="([^"?]+)/g)].map(([, src]) => src ?? '');
    const page = await browser.newPage({ bypassCSP: true, viewport: { width, height: 800 } });
    await page.goto(`${base}${frames[0]}`);
    const faults: string[] = [];
    let looks = 0;
    for (const locale of ['en', 'de', 'es', 'fr', 'ja'])
      for (const frame of frames) {
        const address = `${frame}?lang=${locale}`;
        await showInstead(page, address);
        const found = (await axeFaults(page)).filter(
          ({ id, isCertain }) => isCertain || id === 'color-contrast',
        );
        faults.push(...found.map(({ id, html }) => `${address} ${id}: ${html}`));
        const shown = await page.evaluate('document.documentElement.scrollWidth');
        if (shown !== width) faults.push(`${address} is ${String(shown)} px wide`);
        looks += 1;
      }
    process.stdout.write(`${looks} looks: ${scheme}, ${width} px\n`);
    expect(faults).toEqual([]);
  },
  3_600_000,
);
