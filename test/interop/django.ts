// The Python with Django and its apps, see django/build.sh.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

export const djangoPython = path.join(process.env['CACHE'] ?? '', 'django/bin/python');

/** The version of an installed package. */
export async function pythonVersion(name: string): Promise<string> {
  const code = `import importlib.metadata; print(importlib.metadata.version('${name}'))`;
  return (await promisify(execFile)(djangoPython, ['-c', code])).stdout.trim();
}
