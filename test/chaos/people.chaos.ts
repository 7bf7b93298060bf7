// The store with 200,000 users: test/fault/ runs the same with a tenth of them.
process.env['POSTERN_TEST_PEOPLE'] ??= '200000';
await import('../fault/many-people.test.ts');
