// F1-06: the code of an approved device, while the store fails.
import { expect } from 'vitest';
import { twice, useProofs } from '../../world/proofs.ts';
import { askForCodes, DEVICE_CONFIG, isDonePage, letIn, poll } from './device.ts';

useProofs(
  {
    'a device code': async (world) => {
      const asked = await askForCodes(world);
      expect(isDonePage(await letIn(world, asked, { person: 'bob' }))).toBe(true);
      return twice(() => poll(world, asked));
    },
  },
  DEVICE_CONFIG,
);
