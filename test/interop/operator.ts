// `postern` on the command line, beside the running service.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { settings } from './report.ts';
import { KEYS } from './stage.ts';

export async function postern(...args: readonly string[]): Promise<string> {
  const main = path.join(import.meta.dirname, '../../dist/main.js');
  const command = [main, ...args, '--config', path.join(settings.folder, 'postern.yaml')];
  const { stdout } = await promisify(execFile)(process.execPath, command, {
    env: { ...process.env, ...KEYS },
  });
  return stdout;
}
