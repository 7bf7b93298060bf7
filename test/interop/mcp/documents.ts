/** Where documents of clients are published, in a network of the run's own. */
export const DOCUMENTS = { host: 'docs.example', address: '93.184.216.34' } as const;
