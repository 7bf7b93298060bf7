// Which files are served, and under which names.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createAssets } from '../../../src/views/assets.ts';
import { testFolder } from '../../world/temp-folder.ts';

const branding = { name: 'Acme' };
let overrideFolder: string;

beforeEach(() => {
  overrideFolder = testFolder();
  mkdirSync(path.join(overrideFolder, 'assets/img'), { recursive: true });
});

function putAsset(name: string, text: string): void {
  writeFileSync(path.join(overrideFolder, 'assets', name), text);
}

describe('createAssets', () => {
  it('serves the built-in stylesheet under a name with its hash', () => {
    const assets = createAssets({ branding });
    const url = assets.url('style.css');
    expect(url).toMatch(/^assets\/style\.[0-9a-f]{16}\.css$/);
    const asset = assets.find(url);
    expect(asset).toMatchObject({ type: 'text/css; charset=utf-8', immutable: true });
    expect(asset?.body.toString()).toContain('color-scheme');
  });

  it('serves the plain name too, for url() in a stylesheet, but not as immutable', () => {
    putAsset('img/ground.png', 'png');
    const assets = createAssets({ overrideFolder, branding });
    expect(assets.find('assets/img/ground.png')).toMatchObject({ type: 'image/png', immutable: false });
    expect(assets.url('img/ground.png')).toMatch(/^assets\/img\/ground\.[0-9a-f]{16}\.png$/);
  });

  it('lets a file of the operator win, under another name', () => {
    putAsset('style.css', 'body {}');
    const ours = createAssets({ branding });
    const theirs = createAssets({ overrideFolder, branding });
    expect(theirs.url('style.css')).not.toBe(ours.url('style.css'));
    expect(theirs.find(theirs.url('style.css'))?.body.toString()).toBe('body {}');
    expect(theirs.url('icon.svg')).toBe(ours.url('icon.svg'));
  });

  it("serves the operator's colour as a stylesheet that changes name with the colour", () => {
    const green = createAssets({ branding: { name: 'Acme', color: '#0b6e4f' } });
    const red = createAssets({ branding: { name: 'Acme', color: '#c00' } });
    expect(green.find(green.url('colors.css'))?.body.toString()).toContain('--accent: #0b6e4f;');
    expect(red.url('colors.css')).not.toBe(green.url('colors.css'));
    expect(createAssets({ branding }).has('colors.css')).toBe(false);
  });

  it('takes new files over when asked to, and still serves what open pages ask for', () => {
    putAsset('style.css', 'first');
    const before = createAssets({ overrideFolder, branding });
    const first = before.url('style.css');
    putAsset('style.css', 'second');
    expect(before.find(before.url('style.css'))?.body.toString()).toBe('first');
    const assets = createAssets({ overrideFolder, branding });
    expect(assets.find(assets.url('style.css'))?.body.toString()).toBe('second');
    expect(assets.find(first)).toMatchObject({ body: Buffer.from('second'), immutable: false });
    expect(assets.find('assets/style.css')?.body.toString()).toBe('second');
  });

  it('finds nothing outside of the assets, however a path is spelled', () => {
    writeFileSync(path.join(overrideFolder, 'secret.css'), 'secret');
    const assets = createAssets({ overrideFolder, branding });
    const paths = ['', 'assets', 'assets/', 'assets/..', '/etc/passwd', 'login.ejs', 'assets/login.ejs'];
    const dotted = ['assets/../secret.css', 'assets/../../package.json', 'assets/./style.css'];
    const encoded = ['assets/%2e%2e/secret.css', 'assets/..%2fsecret.css', 'assets/style.css\0.png'];
    const slashed = ['assets//style.css', 'assets/style.css/', 'assets\\style.css', '/assets/style.css'];
    paths.push(...dotted, ...encoded, ...slashed, '__proto__', 'assets/__proto__', 'constructor');
    for (const candidate of paths) expect(assets.find(candidate)).toBeUndefined();
  });

  it('leaves out hidden files and kinds that pages have no use for', () => {
    const names = ['.env', '.hidden.css', 'run.mjs', 'page.html', 'notes', 'key.pem'];
    for (const name of names) putAsset(name, 'x');
    const assets = createAssets({ overrideFolder, branding });
    for (const name of names) {
      expect(() => assets.url(name)).toThrow(`unknown asset "${name}"`);
      expect(assets.find(`assets/${name}`)).toBeUndefined();
    }
  });

  it('follows the links that a mounted ConfigMap consists of, and survives dead and circular ones', () => {
    const folder = path.join(overrideFolder, 'assets');
    mkdirSync(path.join(folder, '..2026_01'));
    writeFileSync(path.join(folder, '..2026_01/style.css'), 'linked');
    symlinkSync('..2026_01', path.join(folder, '..data'));
    symlinkSync('..data/style.css', path.join(folder, 'style.css'));
    symlinkSync('nowhere.css', path.join(folder, 'dead.css'));
    symlinkSync('.', path.join(folder, 'loop'));
    const assets = createAssets({ overrideFolder, branding });
    expect(assets.find(assets.url('style.css'))?.body.toString()).toBe('linked');
    expect(() => assets.url('dead.css')).toThrow();
  });
});
