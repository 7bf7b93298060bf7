// The actions of a user who has only a keyboard.
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

/** The names of the focused element: from its labels and from its text. */
const NAMES = `(({ ariaLabel, ariaLabelledByElements, labels, textContent }) =>
  [ariaLabel, ...[ariaLabelledByElements, labels].map((by) => [...(by ?? [])].map((one) => one.textContent).join(' ')), textContent]
    .map((name) => (name ?? '').trim().replaceAll(/\\s+/g, ' ')))(document.activeElement)`;

/** Presses Tab until the visible focus is on the element with the name `text`, or one that matches it. */
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

/** Types into the focused element. Chromium drops keys before a page's first frame; no user would press any so early. */
export async function typeIn(page: Page, text: string): Promise<void> {
  const frame = page.evaluate(
    'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))',
  );
  // With scripts off, the callback never runs.
  await Promise.race([frame.catch(() => undefined), page.waitForTimeout(500)]);
  await page.keyboard.type(text);
  expect(await page.evaluate('document.activeElement.value')).toBe(text);
}
