import { onTestFinished } from 'vitest';
import type { ServiceProcess } from './process.ts';

/** Kills the process after the current or next test. */
export function forTest(service: ServiceProcess): ServiceProcess {
  onTestFinished(async () => void (await service.end('SIGKILL')));
  return service;
}
