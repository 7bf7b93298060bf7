// Answers frequent requests of programs before the middleware and the engine. Always on.
import type { Declaration } from '../feature.ts';

export const fastPath = { name: 'fast-path', isOn: () => true } as const satisfies Declaration;
