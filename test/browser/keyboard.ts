// What a person does who has the keyboard alone.
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** Goes on with Tab until the focus, which shows, is on what says `text`. */
export async function tabTo(page: Page, text: string): Promise<void> {
  for (let step = 0; step < 20; step += 1) {
    await page.keyboard.press('Tab');
    if ((await page.evaluate('document.activeElement.textContent.trim()')) !== text) continue;
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    return;
  }
  throw new Error(`the keyboard finds no ${text}`);
}

/** Types into what has the focus. Chromium drops keys until a page's first frame, as no person would press them before. */
export async function typeIn(page: Page, text: string): Promise<void> {
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  await page.keyboard.type(text);
  expect(await page.evaluate('document.activeElement.value')).toBe(text);
}
