// The apps that sample pages name.
import type { ClientModel } from './models.ts';

// Square, small, and inside the CSP's `img-src data:`.
const LOGO =
  'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 56 56%22%3E%3Crect width=%2256%22 height=%2256%22 fill=%22%230b6e4f%22/%3E%3Ccircle cx=%2228%22 cy=%2228%22 r=%2214%22 fill=%22white%22/%3E%3C/svg%3E';

export const plain: ClientModel = { id: 'web', name: 'Example web app' };
export const full: ClientModel = {
  ...plain,
  logoUri: LOGO,
  clientUri: 'https://app.example/',
  policyUri: 'https://app.example/privacy',
  tosUri: 'https://app.example/terms',
  startUri: 'https://app.example/',
};
export const longWord = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft';
