// Whether something can be reached from outside that must not be: the management listener through the public address.
import type { Answer } from './ask.ts';
import type { Examination } from './examination.ts';
import { orOk, problem, type Finding } from './finding.ts';

const PATHS = ['/healthz', '/readyz', '/metrics', '/try'] as const;

export async function checkExposure({ at, ask }: Examination): Promise<readonly Finding[]> {
  const bases = new Set([at, new URL(at).origin]);
  const reached: string[] = [];
  for (const base of bases) {
    for (const path of PATHS) {
      if (isManagement(path, await ask(`${base}${path}`))) reached.push(`${base}${path}`);
    }
  }
  const findings: Finding[] =
    reached.length === 0
      ? []
      : [
          problem(
            'management-exposed',
            `the management listener answers to everybody: ${reached.join(', ')}`,
            'Send the public address to the port of listen only, and keep management on a network of its own.',
          ),
        ];
  return orOk(findings, 'exposure', 'the management listener is not reached through the public address');
}

function isManagement(path: (typeof PATHS)[number], { status, json, body }: Answer): boolean {
  if (path === '/metrics') return status === 200 && body.includes('# HELP');
  if (path === '/try') return status === 200;
  return typeof json?.['status'] === 'string' && /^(ok|ready|not ready)$/.test(json['status']);
}
