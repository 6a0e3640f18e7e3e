/** What `help <topic>` explains; each is a file of `src/help/`. */
export const topics: readonly string[] = [
  'batch',
  'chat',
  'ci',
  'exit-codes',
  'faults',
  'fields',
  'images',
  'library',
  'output',
  'recording',
  'serve',
  'services',
  'settings',
  'templates',
];
