/** What `help <topic>` explains; each is a file of `src/help/`. */
export const topics: readonly string[] = [
  'batch',
  'ci',
  'exit-codes',
  'faults',
  'fields',
  'library',
  'output',
  'recording',
  'services',
  'settings',
];
