// Nothing of an application depends on how many processes have one.
import type { Parts } from '../parts.ts';

export const open = (): Parts => ({ guard: { isPlain: () => true } });
