// What a person does who has the keyboard alone.
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** What the thing that has the focus is called: by what names it, and by its words. */
const NAMES = `(({ ariaLabel, ariaLabelledByElements, labels, textContent }) =>
  [ariaLabel, ...[ariaLabelledByElements, labels].map((by) => [...(by ?? [])].map((one) => one.textContent).join(' ')), textContent]
    .map((name) => (name ?? '').trim().replaceAll(/\\s+/g, ' ')))(document.activeElement)`;

/** Goes on with Tab until the focus, which shows, is on what says `text`, or matches it. */
export async function tabTo(page: Page, text: string | RegExp): Promise<void> {
  for (let step = 0; step < 40; step += 1) {
    await page.keyboard.press('Tab');
    const names = await page.evaluate<string[]>(NAMES);
    if (!names.some((name) => (typeof text === 'string' ? name === text : text.test(name)))) continue;
    const seen = `(({ top, bottom }) => [getComputedStyle(document.activeElement).outlineStyle, top >= 0, bottom <= innerHeight])(
      document.activeElement.getBoundingClientRect())`;
    expect(await page.evaluate(seen), names.join()).toEqual(['solid', true, true]);
    return;
  }
  throw new Error(`the keyboard finds no ${String(text)}`);
}

/** Types into what has the focus. Chromium drops keys until a page's first frame, as no person would press them before. */
export async function typeIn(page: Page, text: string): Promise<void> {
  const frame = page.evaluate(
    'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))',
  );
  // Where scripts are off, it is never called.
  await Promise.race([frame.catch(() => undefined), page.waitForTimeout(500)]);
  await page.keyboard.type(text);
  expect(await page.evaluate('document.activeElement.value')).toBe(text);
}
