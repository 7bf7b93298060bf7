// `postern views`: copies a built-in view, and checks an administrator's folder.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { putFile, testFolder } from '../../world/temp-folder.ts';
import { postern } from '../../world/terminal.ts';

let folder: string;

const put = (name: string, text: string) => putFile(path.join(folder, 'views', name), text);

describe('postern views', () => {
  let config: string;
  beforeEach(() => {
    folder = testFolder();
    config = path.join(folder, 'postern.json');
    writeFileSync(config, JSON.stringify({ issuer: 'http://localhost:3000', views: 'views' }));
  });

  const views = (...args: string[]) => postern(['views', ...args, '--config', config]);

  it('eject writes a view, once', async () => {
    expect(await views('eject', 'login')).toMatchObject({
      code: 0,
      stdout: `${path.join(folder, 'views/login.ejs')}\n`,
    });
    const text = readFileSync(path.join(folder, 'views/login.ejs'), 'utf8');
    expect(text).toBe(readFileSync('views/login.ejs', 'utf8'));
    expect((await views('eject', 'login')).code).toBe(1);
    expect((await views('eject', 'login', '--force')).code).toBe(0);
    expect((await views('eject', 'partials/head', '--stdout')).stdout).toContain('<!doctype html>');
  });

  it("eject knows the names, and says what it can't do", async () => {
    expect(await views('eject', 'logn')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^there is no view "logn": did you mean .*"login"/) as unknown,
    });
    expect((await views('eject', 'locales/de.json')).stderr).toContain('merged key by key');
    expect((await views('eject', '../../package.json')).code).toBe(1);
    expect((await views('eject')).code).toBe(2);
    expect((await views('ejct', 'login')).code).toBe(2);
  });

  it('check finds nothing wrong with the built-in views, whole and ejected', async () => {
    for (const name of ['login', 'factors', 'partials/head', 'assets/style.css', 'assets/icon.svg']) {
      expect((await views('eject', name)).code, name).toBe(0);
    }
    put('assets/branding.css', '');
    expect(await views('check')).toEqual({
      code: 0,
      stdout: `${path.join(folder, 'views')} is valid\n`,
      stderr: '',
    });
  });

  it('check says when the folder is not there, and when none is configured', async () => {
    expect(await views('check')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('does not exist'),
    });
    writeFileSync(config, JSON.stringify({ issuer: 'http://localhost:3000' }));
    expect(await views('check')).toMatchObject({ code: 0, stdout: expect.stringContaining('built-in') });
    expect((await views('eject', 'login')).stderr).toContain('set views');
  });

  it.each([
    ['a broken template', 'login.ejs', '\n<% if ( %>', 'login.ejs SyntaxError: '],
    ['an unknown name', 'partials/foot.ejs', '<%= modle.x %>', 'modle is not defined'],
    ['an unknown field', 'logout.ejs', '<%= model.clientt %>', 'unknown field "model.clientt"'],
    ['a field of a field', 'logout.ejs', '<%= model.client?.nam %>', 'unknown field "model.client.nam"'],
    [
      'a missing partial',
      'login.ejs',
      '<%- include("partials/hed") %>',
      'There is no template partials/hed.ejs',
    ],
    ['a missing asset', 'login.ejs', '<%= asset("x.png") %>', 'unknown asset "x.png"'],
    ['raw output', 'login.ejs', '\n<%- model.username %>', 'login.ejs:2 prints without escaping'],
    ['a text that nobody has', 'login.ejs', '<%= t("login.titel") %>', 'There is no text login.titel'],
    [
      'a form without its token',
      'login.ejs',
      '<form method="post" action="x"></form>',
      'does not print csrf: its forms are rejected',
    ],
    ['a locale that is none', 'locales/de.json', '[]', 'must be one object'],
    ['an unknown value', 'locales/de.json', '{"login.lead": "{{app}}"}', 'a text uses {{app}}, which'],
  ])('check finds %s', async (_, name, text, words) => {
    put(name, text);
    const { code, stderr } = await views('check');
    expect(stderr).toContain(words);
    expect(code).toBe(1);
  });

  it('check lists what it finds as JSON', async () => {
    put('login.ejs', '\n<%- model.username %>');
    const { code, stdout } = await views('check', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, faults: [{ file: 'login.ejs', line: 2 }, {}] });
    expect(code).toBe(1);
  });

  it('check leaves alone what an operator may add', async () => {
    put('locales/es.json', '{"scope.reports.read": "Leer", "own.words": "Hola"}');
    put('partials/foot.ejs', `<%= t("own.words") %>${readFileSync('views/partials/foot.ejs', 'utf8')}`);
    put('locales/en.json', '{"own.words": "Hello"}');
    put('login.ejs', `<%- include('partials/mine') -%>${readFileSync('views/login.ejs', 'utf8')}`);
    put('partials/mine.ejs', '');
    put('assets/font.woff2', 'x');
    put(
      'assets/branding.css',
      '@import "./style.css"; @font-face { src: url(font.woff2) } a { mask: url(#m), url("https://x.example/a.png") }',
    );
    expect(await views('check')).toMatchObject({ code: 0, stderr: '' });
  });
});
