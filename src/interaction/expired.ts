// What a form or a page meets whose interaction is over: answered by somebody, expired, or of another browser.
import { Refusal } from '../pages/refusal.ts';

export function expired(): Refusal {
  return new Refusal(
    400,
    'expired',
    'this sign-in is no longer open, please go back to the app and start again',
  );
}
