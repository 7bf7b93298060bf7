// An application doesn't depend on the number of processes.
import type { Parts } from '../parts.ts';

export const open = (): Parts => ({ guard: { isPlain: () => true } });
