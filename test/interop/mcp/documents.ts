/** The host where client ID metadata documents are published, in the run's own network. */
export const DOCUMENTS = { host: 'docs.example', address: '93.184.216.34' } as const;
