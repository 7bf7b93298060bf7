// The store with 200,000 people: what test/fault/ shows with a tenth of them.
process.env['POSTERN_TEST_PEOPLE'] ??= '200000';
await import('../fault/many-people.test.ts');
