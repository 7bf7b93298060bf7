// A newcomer who follows README.md from top to bottom: what is typed, pasted and clicked here is read from the document.
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { runProgram, startUntil, type ServiceProcess } from '../world/process.ts';

export const APP_FILE = 'examples/express/app.js';
const CONFIG_FILE = 'config/postern.yaml';

export type Newcomer = {
  /** The checkout, and its PATH. */
  readonly folder: string;
  readonly path: string;
  readonly browser: Browser;
  /** Called at the end of each step. */
  readonly onStep?: (name: string) => void;
};

/** Reads what README.md prints, by section. */
export async function readReadme(folder: string) {
  const readme = await readFile(path.join(folder, 'README.md'), 'utf8');
  const start = sectionOf(readme, 'Start');
  const steps = sectionOf(readme, 'Your first app in five minutes');
  return {
    start: { commands: fencedIn(start, 'sh'), printed: fencedIn(start, '')[0] ?? '' },
    app: {
      commands: fencedIn(steps, 'sh'),
      item: fencedIn(steps, 'yaml')[0] ?? '',
      source: fencedIn(steps, 'js')[0] ?? '',
      above: find(steps, /right below the line `(.+)`/),
      home: find(steps, /Open (\S+),/),
      person: find(steps, /sign in as `(.+)` with the password/),
      password: find(steps, /with the password `(.+)`/),
      show: find(steps, /_([^_]+)_ shows/),
      signOut: find(steps, /_([^_]+)_ ends/),
    },
  };
}

/** Follows README.md in order. Throws when a command fails. */
export async function followReadme(newcomer: Newcomer) {
  const { folder, browser, onStep } = newcomer;
  const place = { cwd: folder, path: newcomer.path };
  const running: ServiceProcess[] = [];
  async function startShell(ready: string, command = ''): Promise<ServiceProcess> {
    const started = await startUntil(ready, ['sh', '-c', command], place);
    running.push(started);
    return started;
  }
  async function run(command = ''): Promise<string> {
    const { code, stdout, stderr } = await runProgram(['sh', '-c', command], place);
    if (code !== 0) throw new Error(`${command} ended with ${code}: ${stdout}${stderr}`);
    return stdout;
  }

  const { start, app } = await readReadme(folder);
  try {
    const [startCommand, tokenCommand] = start.commands;
    const service = await startShell('Postern is running.', startCommand);
    onStep?.('npm ci && npm start');
    const machineToken = await run(tokenCommand);
    onStep?.('a machine token by curl');

    const [secretCommand, checkCommand, appCommand] = app.commands;
    const made = await run(secretCommand);
    onStep?.('a secret');
    const item = app.item.replace('sha256:…', find(made, /hash: "(.+)"/));
    const file = path.join(folder, CONFIG_FILE);
    const config = await readFile(file, 'utf8');
    await writeFile(file, config.replace(`\n${app.above}\n`, `\n${app.above}\n${item}\n`));
    const checked = await run(checkCommand);
    onStep?.('the client pasted and checked');
    while (!service.stderr().includes('configuration reloaded')) await sleep(100);
    onStep?.('configuration reloaded');
    await startShell(`Open ${app.home}`, appCommand?.replace('…', find(made, /^([\w-]{43})$/m)));
    onStep?.('the app started');

    const page = await browser.newPage();
    await page.goto(app.home);
    await signInAtDemo(page, app);
    await page.getByRole('link', { name: app.show }).click();
    const shown: unknown = JSON.parse(await page.locator('body').innerText());
    onStep?.('signed in, with name and mail');
    await page.goBack();
    await page.getByRole('link', { name: app.signOut }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('link', { name: 'Sign in' }).click();
    // The session of the service has ended too.
    await page.getByLabel('Username').waitFor();
    onStep?.('signed out');
    return { welcome: service.stdout(), machineToken, checked, shown };
  } finally {
    for (const one of running) await one.end();
  }
}

async function signInAtDemo(page: Page, { person, password }: { person: string; password: string }) {
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByLabel('Username').fill(person);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
}

/** PATH without this checkout's node_modules, which npm puts first. */
export function ownPath(): string {
  const entries = (process.env['PATH'] ?? '').split(path.delimiter);
  return entries.filter((entry) => !entry.includes('node_modules')).join(path.delimiter);
}

function find(text: string, pattern: RegExp): string {
  const [, found] = pattern.exec(text) ?? [];
  if (found === undefined) throw new Error(`nothing matches ${pattern} in:\n${text}`);
  return found;
}

function sectionOf(text: string, title: string): string {
  const [, section = ''] = text.split(`\n## ${title}\n`);
  return section.split('\n## ')[0] ?? '';
}

function fencedIn(text: string, language: string): string[] {
  const blocks = [...text.matchAll(/^```(\w*)\n([\s\S]*?)\n```$/gm)];
  return blocks.filter(([, own]) => own === language).map(([, , block = '']) => block);
}
