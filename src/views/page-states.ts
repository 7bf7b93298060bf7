// How the states of a page are written down for samples.ts, and the apps that they name.
import type { ClientModel, PageModels, PageName } from './models.ts';

export type PageState = { [N in PageName]: { title: string; name: N; model: PageModels[N] } }[PageName];

/** Each model by what stands behind the page's name in the title: nothing for the plain state. */
export function statesOf<N extends PageName>(name: N, models: Readonly<Record<string, PageModels[N]>>) {
  return Object.entries(models).map(([state, model]) => ({ title: `${name} ${state}`.trim(), name, model }));
}

/** A state for each of `values`, which it is named after. */
export function each<const V extends string, M>(
  values: readonly V[],
  toModel: (value: V) => M,
): Readonly<Record<V, M>> {
  // An entry for each.
  return Object.fromEntries(values.map((value) => [value, toModel(value)])) as Record<V, M>;
}

export const INTERACTION = 'https://id.example/interaction/abc';

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
