// Runs axe in the page itself, which returns only the faults: with the passed checks it takes three times as long.
import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** All rules of WCAG 2.2 AA that axe knows. */
export const WCAG: axe.RunOptions = { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] };

type Fault = { readonly id: string; readonly html: string; readonly isCertain: boolean };

/** Resolves the faults of the page. The page's policy rightly blocks this script, so its context needs `bypassCSP`. */
export async function axeFaults(page: Page, options = WCAG, within?: string): Promise<readonly Fault[]> {
  if ((await page.evaluate('"axe" in window')) !== true) await page.evaluate(axe.source);
  return page.evaluate<Fault[]>(`(async () => {
    const { violations, incomplete } = await axe.run(${within === undefined ? 'document' : JSON.stringify(within)}, {
      ...${JSON.stringify(options)},
      resultTypes: ['violations', 'incomplete'],
    });
    const faults = (results, isCertain) =>
      results.flatMap(({ id, nodes }) => nodes.map(({ html }) => ({ id, html, isCertain })));
    return [...faults(violations, true), ...faults(incomplete, false)];
  })()`);
}

/** Replaces the loaded page by another one, including its scripts: axe and the frame stay. */
export async function showInstead(page: Page, address: string): Promise<void> {
  await page.evaluate(`(async () => {
    const text = async (address) => (await fetch(address)).text();
    const shown = new DOMParser().parseFromString(await text(${JSON.stringify(address)}), 'text/html');
    document.title = shown.title;
    document.documentElement.lang = shown.documentElement.lang;
    document.documentElement.dir = shown.documentElement.dir;
    document.body.replaceWith(shown.body);
    // The page that sends its form by itself would be gone.
    for (const { src } of shown.scripts) if (!src.includes('/form-post.')) new Function(await text(src))();
  })()`);
}
